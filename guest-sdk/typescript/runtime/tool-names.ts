/**
 * Tools as properties of an object: `tools["file-system__read"]`, and `tools.file_system.read` where only one tool can be
 * meant. The names of tools are data: none of them reaches a prototype.
 */
import { CUSTOM } from './format';
import { ToolError } from './tool-error';

type ToolFunction = (args?: unknown, options?: object) => Promise<unknown>;

interface Source {
  names(): Iterable<string>;
  /** `called`: the function that the author calls. */
  call(name: string, args: unknown, options: object | undefined, called: unknown): Promise<unknown>;
}

/** Keys that no alias has: each object has them, or an `await` looks for them. */
const OF_OBJECTS = new Set(['then', ...Object.getOwnPropertyNames(Object.prototype)]);

/** Keys that libraries look for in any object, which may be an alias. */
const OF_LIBRARIES = new Set(['toJSON', 'inspect', 'prototype', 'nodeType', '$$typeof', 'asymmetricMatch']);

const MAX_LISTED = 20;

const snake = (name: string): string => name.replaceAll('-', '_');
const bracket = (name: string): string => `tools[${JSON.stringify(name)}]`;

/** A name whose parts have no `_` cannot be an alias of another one, and needs no list of names. */
const PLAIN = /^[^_]+__[^_]+$/;

/** The names of the step's tools, and their aliases. They are asked for when they are needed: there may be thousands. */
export class ToolNames {
  readonly #source: Source;
  #exact: Set<string> | undefined;
  /** The names that are equal in snake case. */
  #bySnake: Map<string, string[]> | undefined;
  readonly #functions = new Map<string, ToolFunction>();
  readonly #groups = new Map<string, object>();
  /** How an author writes a name that is not among the names. */
  readonly #written = new Map<string, string>();

  constructor(source: Source) {
    this.#source = source;
  }

  get all(): Set<string> {
    return (this.#exact ??= new Set(this.#source.names()));
  }

  /** Returns what `tools[key]` is. */
  get(key: string): unknown {
    return this.#find(key, bracket(key)) ?? this.#group(key);
  }

  /** Says that there is no such tool, and which there are. `refusal` is what the host says. */
  unknown(name: string, refusal: unknown): unknown {
    if (!(refusal instanceof ToolError) || refusal.code !== 'E_TOOL_NOT_IN_CATALOG') return refusal;
    const names = [...this.all];
    const listed = names.slice(0, MAX_LISTED).join(', ');
    const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more, which tools.search(text) finds` : '';
    const exist = names.length === 0 ? 'there are no tools' : `the tools are ${listed}${more}`;
    const hint = /^Did you mean '[^']*'\?/.exec(refusal.suggestion ?? '')?.[0];
    const suggestion = hint ? `${hint} ${exist}` : exist;
    return new ToolError({ message: `there is no tool ${this.#written.get(name) ?? bracket(name)}`, code: 'E_TOOL_NOT_IN_CATALOG', suggestion }, refusal.tool);
  }

  /** Returns the function of a tool, by its name or its name in snake case. */
  #find(key: string, written: string): ToolFunction | undefined {
    return PLAIN.test(key) || this.all.has(key) ? this.#functionOf(key) : this.#alias(key, written);
  }

  #alias(key: string, written: string): ToolFunction | undefined {
    const same = this.#aliases.get(snake(key)) ?? [];
    if (same.length > 1) {
      const suggestion = `write ${same.map(bracket).join(' or ')}`;
      throw new ToolError({ message: `${written} can be ${same.length} tools`, code: 'AMBIGUOUS_TOOL', suggestion });
    }
    return same[0] === undefined ? undefined : this.#functionOf(same[0]);
  }

  get #aliases(): Map<string, string[]> {
    if (this.#bySnake) return this.#bySnake;
    const aliases = new Map<string, string[]>();
    for (const name of this.all) {
      const key = snake(name);
      const same = aliases.get(key);
      if (same) same.push(name);
      else aliases.set(key, [name]);
    }
    return (this.#bySnake = aliases);
  }

  #functionOf(name: string): ToolFunction {
    let made = this.#functions.get(name);
    if (!made) {
      const { call } = this.#source;
      const called: ToolFunction = (args, options) => call(name, args, options, called);
      made = Object.freeze(called);
      this.#functions.set(name, made);
    }
    return made;
  }

  /** Returns the tools whose names begin with this part. Called itself, it is the tool of this name, which is not among them. */
  #group(key: string): object | undefined {
    const group = snake(key);
    const known = this.#groups.get(group);
    if (known) return known;
    const prefix = `${group}__`;
    const members = [...this.#aliases.keys()].filter((each) => each.startsWith(prefix)).map((each) => each.slice(prefix.length));
    const get = (key: string): unknown => {
      const written = `tools.${group}.${key}`;
      return this.#alias(prefix + key, written) ?? this.#unlisted(key, written, prefix + key);
    };
    const itself = members.length > 0 ? undefined : this.#unlisted(key, bracket(key), key);
    if (members.length === 0 && !itself) return undefined;
    const made = listing(() => members, get, itself);
    this.#groups.set(group, made);
    return made;
  }

  /** Returns a function for a name that is not among the names: the host says whether it is denied, or there is none. */
  #unlisted(key: string, written: string, name: string): ToolFunction | undefined {
    if (OF_LIBRARIES.has(key)) return undefined;
    this.#written.set(name, written);
    return this.#functionOf(name);
  }
}

/** Returns an object without a prototype that nothing changes. `find` returns or throws what a key has, always the same. `called`: what it does as a function. */
function listing(keys: () => Iterable<string>, find: (key: string) => unknown, called?: ToolFunction): object {
  const found = new Map<string | symbol, unknown>();
  const get = (key: string): unknown => {
    const value = find(key);
    if (value !== undefined) found.set(key, value);
    return value;
  };
  const has = (key: string | symbol): key is string => typeof key === 'string' && new Set(keys()).has(key);
  // What is called has the own properties of no function.
  const target = called ? Object.setPrototypeOf((...args: Parameters<ToolFunction>) => called(...args), null) : Object.create(null);
  for (const name of called ? Object.getOwnPropertyNames(target) : []) delete target[name];
  return new Proxy(target as object, {
    get: (_, key) => {
      const value = found.get(key);
      if (value !== undefined) return value;
      if (key === CUSTOM) return () => `tools: ${[...keys()].join(', ')}`;
      return typeof key === 'symbol' || OF_OBJECTS.has(key) ? undefined : get(key);
    },
    has: (_, key) => has(key),
    ownKeys: () => [...keys()],
    getOwnPropertyDescriptor: (_, key) => (has(key) ? { value: get(key), enumerable: true, configurable: true } : undefined),
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    setPrototypeOf: () => false,
    preventExtensions: () => false,
  });
}

/** Returns `tools`: its own functions precede the names of tools. */
export function toolsObject(own: object, names: ToolNames): object {
  const functions = new Map<string, unknown>(Object.entries(own));
  return listing(
    () => names.all,
    (key) => functions.get(key) ?? names.get(key),
  );
}

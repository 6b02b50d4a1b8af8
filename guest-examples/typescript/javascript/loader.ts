/** Loads the modules of a program: files of the workdir, and those of Node that a tool has. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { runAsyncFunction } from 'toolhost/async';
import { nodeModule } from './node';
import type { Kind, Sources } from './sources';
import { shown } from './trace';

type Exports = Record<string, unknown>;

const EXTENSIONS = ['', '.js', '.mjs', '.cjs', '.json', '/index.js', '/index.mjs', '/index.cjs'];

/** A promise that the program does not wait for. */
export interface Floating {
  promise: Promise<unknown>;
  /** The line of its statement. */
  line: number;
  /** Undefined while it is pending. */
  outcome?: { value: unknown } | { reason: unknown };
}

export class Loader {
  readonly floating: Floating[] = [];
  /** Promises in variables of the program, and where they were set. */
  readonly held: { promise: unknown; place: string }[] = [];
  /** What to tell of a program that returns nothing. */
  note: string | undefined;
  #modules = new Map<string, Promise<Exports>>();
  #required = new Map<string, { exports: unknown }>();

  /** `globals`: what a program may name beside the globals of the engine. */
  constructor(
    readonly sources: Sources,
    readonly globals: Record<string, unknown> = {},
  ) {}

  /** Runs the program and returns what it returns. */
  entry(source: string, file: string, kind: Kind): Promise<unknown> {
    return this.#evaluate(source, file, kind, {});
  }

  #evaluate(source: string, file: string, kind: Kind, exported: Exports): Promise<unknown> {
    const given = this.#given(file, { exports: exported as unknown }, exported);
    return runAsyncFunction(undefined, [], this.#function(source, file, kind, given));
  }

  #function(source: string, file: string, kind: Kind, given: Record<string, unknown>): (...args: any[]) => any {
    return this.sources.evaluate(source, file, kind, given);
  }

  #given(file: string, module: { exports: unknown }, exported: Exports): Record<string, unknown> {
    const importNames = (name: string, names?: string[]) => {
      // Made where the statement is, for its stack.
      const missing = new SyntaxError();
      return this.#import(name, file).then((found) => {
        if (names === undefined) return found;
        return names.map((each) => {
          if (each in found) return found[each];
          missing.message = `The requested module '${name}' does not provide an export named '${each}'`;
          throw missing;
        });
      });
    };
    const export_ = (getters: Record<string, () => unknown>) => {
      for (const [name, get] of Object.entries(getters)) Object.defineProperty(exported, name, { get, enumerable: true });
    };
    const float = (value: unknown, line: number) => {
      if (value instanceof Promise) {
        const floating: Floating = { promise: value, line };
        // Its error is thrown later.
        value.then(
          (value: unknown) => (floating.outcome = { value }),
          (reason: unknown) => (floating.outcome = { reason }),
        );
        this.floating.push(floating);
      }
      return value;
    };
    const hold = (value: unknown, place: string) => {
      if (value instanceof Promise) this.held.push({ promise: value, place });
      return value;
    };
    const last = (value: unknown, note: string) => {
      const set = (value: unknown) => void (value !== undefined && (this.note = note));
      if (value instanceof Promise) value.then(set, () => {});
      else set(value);
      return value;
    };
    const dirname = path.dirname(file);
    return {
      $import: importNames,
      $export: export_,
      $float: float,
      $hold: hold,
      $last: last,
      $meta: { url: `file://${file}`, filename: file, dirname },
      require: (name: string) => this.#require(name, file),
      module,
      exports: module.exports,
      __filename: file,
      __dirname: dirname,
      ...this.globals,
    };
  }

  #import(name: string, from: string): Promise<Exports> {
    const own = nodeModule(name);
    if (own) return Promise.resolve(own);
    const file = find(name, from);
    let loaded = this.#modules.get(file);
    if (!loaded) {
      const exported: Exports = {};
      // A module that imports itself in a circle gets what is exported so far.
      this.#modules.set(file, Promise.resolve(exported));
      loaded = this.#load(file, exported);
      this.#modules.set(file, loaded);
    }
    return loaded;
  }

  async #load(file: string, exported: Exports): Promise<Exports> {
    if (file.endsWith('.json') || file.endsWith('.cjs')) {
      const required = this.#require(file, file);
      const names = typeof required === 'object' && required !== null ? required : {};
      return Object.assign(exported, names, { default: required });
    }
    await this.#evaluate(fs.readFileSync(file, 'utf8'), file, 'module', exported);
    return exported;
  }

  #require(name: string, from: string): unknown {
    const own = nodeModule(name);
    if (own) return own.default ?? own;
    const file = find(name, from);
    const known = this.#required.get(file);
    if (known) return known.exports;
    const module = { exports: {} as unknown };
    this.#required.set(file, module);
    const source = fs.readFileSync(file, 'utf8');
    if (file.endsWith('.json')) {
      module.exports = JSON.parse(source);
    } else {
      const given = this.#given(file, module, {});
      this.#function(source, file, 'script', given).call(module.exports);
    }
    return module.exports;
  }
}

/** Finds the file of an import. */
function find(name: string, from: string): string {
  if (!/^(\.{0,2}\/|\.{1,2}$|file:\/\/)/.test(name)) {
    throw notFound(`Cannot find package '${name}': a program can import files of the workdir and some modules of Node`);
  }
  const base = path.resolve(path.dirname(from), name.replace(/^file:\/\//, ''));
  for (const extension of EXTENSIONS) {
    const file = base + extension;
    if (fs.existsSync(file) && fs.statSync(file).isFile()) return file;
  }
  throw notFound(`Cannot find module '${name}', imported from ${shown(from)}`);
}

function notFound(message: string): Error {
  return Object.assign(new Error(message), { code: 'ERR_MODULE_NOT_FOUND' });
}

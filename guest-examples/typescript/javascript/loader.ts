/** Loads the modules of a program: files of the workdir, and those of Node that a tool has. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { body, type Kind } from './modules';
import { nodeModule } from './node';
import { shown } from './trace';

type Exports = Record<string, unknown>;

/** Functions whose last argument is the body. */
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as FunctionConstructor;

/** `package.json` asks for the engine whose own async functions run: those of a program are not compiled away. */
const PARAMETERS = ['fetch', '$import', '$export', '$float', '$meta', 'require', 'module', 'exports', '__filename', '__dirname'];

const EXTENSIONS = ['', '.js', '.mjs', '.cjs', '.json', '/index.js', '/index.mjs', '/index.cjs'];

export class Loader {
  /** Promises that the program does not wait for. */
  readonly floating: Promise<unknown>[] = [];
  /** The files that were loaded. */
  readonly files = new Set<string>();
  #modules = new Map<string, Promise<Exports>>();
  #required = new Map<string, { exports: unknown }>();

  /** Runs the program. */
  async entry(source: string, file: string): Promise<void> {
    await this.#evaluate(source, file, 'module', {});
  }

  async #evaluate(source: string, file: string, kind: Kind, exported: Exports): Promise<void> {
    this.files.add(file);
    const module = { exports: exported as unknown };
    const text = body(source, shown(file), kind);
    await new AsyncFunction(...PARAMETERS, `${text}\n//# sourceURL=${file}`)(...this.#given(file, module, exported));
  }

  #given(file: string, module: { exports: unknown }, exported: Exports): unknown[] {
    const importNames = async (name: string, names?: string[]) => {
      const found = await this.#import(name, file);
      if (names === undefined) return found;
      return names.map((each) => {
        if (each in found) return found[each];
        throw new SyntaxError(`The requested module '${name}' does not provide an export named '${each}'`);
      });
    };
    const export_ = (getters: Record<string, () => unknown>) => {
      for (const [name, get] of Object.entries(getters)) Object.defineProperty(exported, name, { get, enumerable: true });
    };
    const float = (value: unknown) => {
      if (value instanceof Promise) {
        // Marked as handled: its error is thrown when it is waited for.
        value.catch(() => {});
        this.floating.push(value);
      }
      return value;
    };
    const meta = { url: `file://${file}`, filename: file, dirname: path.dirname(file) };
    const require = (name: string) => this.#require(name, file);
    return [fetched, importNames, export_, float, meta, require, module, module.exports, file, path.dirname(file)];
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
      this.files.add(file);
      const text = body(source, shown(file), 'script');
      const given = this.#given(file, module, {});
      new Function(...PARAMETERS, `${text}\n//# sourceURL=${file}`).call(module.exports, ...given);
    }
    return module.exports;
  }
}

/** `fetch`, whose error says what may be the matter: the engine does not. */
async function fetched(resource: RequestInfo | URL, options?: RequestInit): Promise<Response> {
  try {
    return await fetch(resource, options);
  } catch (error) {
    const url = String(resource instanceof Request ? resource.url : resource);
    const allow = 'the operator allows an origin with --allow-http ORIGIN, or in the policy';
    throw new TypeError(`fetch failed: ${url}: the policy does not allow it, or the server cannot be reached; ${allow}`, { cause: error });
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

/** `Bun`: files, sleep, and clear errors for what the sandbox does not have. */
import { dequal } from 'dequal';
import { decodeUtf8, sleepSync } from 'toolhost:engine';
import { bytesOf, readBytes, writeFileSync, type Data } from './fs/content';
import { codeOf, existsSync, lstatSync, mkdirSync, statSync, unlinkSync } from './fs/tree';
import { pathText, type PathLike } from './fs/root';
import type { Stats } from './fs/stats';
import { inspect } from './format';
import { environment } from './node/process';
import { noNetwork, noProcesses } from './refused';
import { monotonic } from './web/clock';

const TYPES: Record<string, string> = {
  css: 'text/css;charset=utf-8',
  csv: 'text/csv;charset=utf-8',
  html: 'text/html;charset=utf-8',
  js: 'text/javascript;charset=utf-8',
  json: 'application/json;charset=utf-8',
  md: 'text/markdown;charset=utf-8',
  png: 'image/png',
  ts: 'text/javascript;charset=utf-8',
  txt: 'text/plain;charset=utf-8',
};

/** A file, which is read on demand. */
export class BunFile {
  readonly name: string;

  constructor(
    path: PathLike,
    readonly options: { type?: string } = {},
  ) {
    this.name = pathText(path);
  }

  get type(): string {
    return this.options.type ?? TYPES[this.name.slice(this.name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
  }

  /** Size in bytes; 0 if the file does not exist. */
  get size(): number {
    return statSync(this.name, { throwIfNoEntry: false })?.size ?? 0;
  }

  get lastModified(): number {
    return statSync(this.name, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  async exists(): Promise<boolean> {
    return existsSync(this.name) && statSync(this.name)!.isFile();
  }

  async bytes(): Promise<Uint8Array> {
    return readBytes(this.name);
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return readBytes(this.name).slice().buffer as ArrayBuffer;
  }

  async text(): Promise<string> {
    const text = decodeUtf8(readBytes(this.name));
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  async stat(): Promise<Stats> {
    return statSync(this.name)!;
  }

  async write(data: Data | BunFile): Promise<number> {
    return write(this, data);
  }

  async delete(): Promise<void> {
    unlinkSync(this.name);
  }

  unlink = this.delete;
}

/** Writes a file, makes the folders above it, and returns how many bytes it wrote. */
export async function write(target: PathLike | BunFile, data: Data | BunFile): Promise<number> {
  const name = target instanceof BunFile ? target.name : pathText(target);
  const bytes = data instanceof BunFile ? readBytes(data.name) : bytesOf(data);
  try {
    writeFileSync(name, bytes);
  } catch (error) {
    const parent = name.slice(0, Math.max(name.lastIndexOf('/'), 0));
    if (codeOf(error) !== 'ENOENT' || !parent || isLink(name)) throw error;
    mkdirSync(parent, { recursive: true });
    writeFileSync(name, bytes);
  }
  return bytes.length;
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

function sleep(until: number | Date): Promise<void> {
  const ms = until instanceof Date ? until.getTime() - Date.now() : until;
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const refuse = (what: string, why: (what: string) => Error) => (): never => {
  throw why(`Bun.${what}`);
};

export const Bun = {
  file: (path: PathLike, options?: { type?: string }) => new BunFile(path, options),
  write,
  sleep,
  sleepSync,
  inspect,
  deepEquals: dequal,
  nanoseconds: () => Number(monotonic()),
  get env() {
    return environment();
  },
  spawn: refuse('spawn', noProcesses),
  spawnSync: refuse('spawnSync', noProcesses),
  $: refuse('$', noProcesses),
  which: () => null,
  serve: refuse('serve', noNetwork),
  listen: refuse('listen', noNetwork),
  connect: refuse('connect', noNetwork),
};

export default Bun;

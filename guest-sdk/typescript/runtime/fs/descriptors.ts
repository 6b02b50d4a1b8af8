/** Files that stay open, by their numbers. */
import { u64 } from 'toolhost:engine';
import { bytesOf, fileOptions, openFile, writeAt, type Data, type FileOptions, type OpenFile } from './content';
import { attempt, SystemError } from './errors';
import { release, type PathLike } from './root';
import { Stats } from './stats';
import { Buffer } from '../node/buffer';

interface Open extends OpenFile {
  /** Where the next bytes are read and written, unless a place is given. */
  at: number;
}

/** Numbers begin after those of the standard streams. */
const FIRST = 3;

const files = new Map<number, Open>();

export function openSync(path: PathLike, flag: string | number = 'r'): number {
  let number = FIRST;
  while (files.has(number)) number += 1;
  files.set(number, { ...openFile(path, flag), at: 0 });
  return number;
}

function fileOf(number: number, syscall: string): Open {
  const open = files.get(number);
  if (!open) throw new SystemError('bad-descriptor', syscall);
  return open;
}

export function closeSync(number: number): void {
  release(fileOf(number, 'close').file);
  files.delete(number);
}

interface Range {
  offset?: number;
  length?: number;
  position?: number | bigint | null;
}

/** Reads into `target` and returns how many bytes it read: 0 at the end. */
export function readSync(number: number, target: ArrayBufferView, offset?: number | Range, length?: number, position?: number | bigint | null): number {
  const range = typeof offset === 'object' && offset !== null ? offset : { offset, length, position };
  const from = range.offset ?? 0;
  const wanted = range.length ?? target.byteLength - from;
  const bytes = readAt(number, wanted, range.position);
  new Uint8Array(target.buffer, target.byteOffset + from, wanted).set(bytes);
  return bytes.length;
}

/** Reads up to so many bytes: none at the end. */
export function readAt(number: number, wanted: number, position?: number | bigint | null): Uint8Array {
  const open = fileOf(number, 'read');
  const hasPlace = position !== undefined && position !== null && position >= 0;
  const [bytes] = attempt('read', open.name, () => open.file.read(u64(wanted), u64(hasPlace ? Number(position) : open.at)));
  if (!hasPlace) open.at += bytes.length;
  return bytes;
}

export function writeSync(number: number, data: Data, offset?: number | null | Range, length?: number | string, position?: number | null): number {
  const open = fileOf(number, 'write');
  const range = typeof offset === 'object' && offset !== null ? offset : { offset: offset ?? 0, length, position };
  const isText = typeof data === 'string';
  const bytes = bytesOf(data, isText && typeof length === 'string' ? length : undefined);
  // For a text, the second number is the place.
  const place = isText ? (typeof offset === 'number' ? offset : undefined) : range.position;
  const part = isText ? bytes : bytes.subarray(range.offset, typeof range.length === 'number' ? (range.offset ?? 0) + range.length : undefined);
  const hasPlace = place !== undefined && place !== null;
  writeAt(open.file, open.name, part, open.append ? undefined : hasPlace ? Number(place) : open.at);
  if (!hasPlace) open.at += part.length;
  return part.length;
}

export function fstatSync(number: number): Stats {
  const { file, name } = fileOf(number, 'fstat');
  return new Stats(attempt('fstat', name, () => file.stat()));
}

export function ftruncateSync(number: number, length = 0): void {
  const { file, name } = fileOf(number, 'ftruncate');
  attempt('ftruncate', name, () => file.setSize(u64(length)));
}

/** Does nothing: what is written is in the file. */
export function fsyncSync(number: number): void {
  fileOf(number, 'fsync');
}

/** What `open` of `node:fs/promises` returns. */
export class FileHandle {
  constructor(readonly fd: number) {}

  async read(target?: any, offset?: number | Range, length?: number, position?: number | null): Promise<object> {
    const isView = ArrayBuffer.isView(target);
    const buffer: ArrayBufferView = isView ? target : (target?.buffer ?? Buffer.alloc(16_384));
    return { bytesRead: readSync(this.fd, buffer, isView ? offset : target, length, position), buffer };
  }

  async write(data: Data, offset?: number | null | Range, length?: number | string, position?: number | null): Promise<object> {
    return { bytesWritten: writeSync(this.fd, data, offset, length, position), buffer: data };
  }

  async readFile(options?: string | null | FileOptions): Promise<unknown> {
    const { encoding } = fileOptions(options);
    const parts: Uint8Array[] = [];
    for (let bytes = readAt(this.fd, 1 << 20); bytes.length > 0; bytes = readAt(this.fd, 1 << 20)) parts.push(bytes);
    const all = Buffer.concat(parts);
    return encoding ? all.toString(encoding as 'utf8') : all;
  }

  async writeFile(data: Data, options?: string | null | FileOptions): Promise<void> {
    writeSync(this.fd, bytesOf(data, fileOptions(options).encoding));
  }

  appendFile = this.writeFile;

  async stat(): Promise<Stats> {
    return fstatSync(this.fd);
  }

  async truncate(length?: number): Promise<void> {
    ftruncateSync(this.fd, length);
  }

  async sync(): Promise<void> {}

  async datasync(): Promise<void> {}

  async close(): Promise<void> {
    closeSync(this.fd);
  }

  [Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')](): Promise<void> {
    return this.close();
  }
}

/** Reads and writes files. */
import { Buffer } from 'buffer';
import type { Descriptor, DescriptorFlags, OpenFlags } from 'wasi:filesystem/types';
import { decodeUtf8, encodeUtf8, u64 } from 'toolhost:engine';
import { constants } from './constants';
import { attempt, SystemError } from './errors';
import { beneath, pathText, release, root, type PathLike } from './root';

export type Data = string | ArrayBufferView | ArrayBuffer;
export interface FileOptions {
  encoding?: string | null;
  /** As in `FLAGS`, or of `O_…` in `fs.constants`. */
  flag?: string | number;
}

/** The most bytes that one host call reads or writes. */
const CHUNK_BYTES = 1 << 20;

interface OpenHow {
  open: OpenFlags;
  access: DescriptorFlags;
  append?: boolean;
  /** Whether a link is an error. */
  noFollow?: boolean;
}

const FLAGS: Record<string, OpenHow> = {
  r: { open: {}, access: { read: true } },
  'r+': { open: {}, access: { read: true, write: true } },
  w: { open: { create: true, truncate: true }, access: { write: true } },
  wx: { open: { create: true, exclusive: true }, access: { write: true } },
  'w+': { open: { create: true, truncate: true }, access: { read: true, write: true } },
  'wx+': { open: { create: true, exclusive: true }, access: { read: true, write: true } },
  a: { open: { create: true }, access: { write: true }, append: true },
  ax: { open: { create: true, exclusive: true }, access: { write: true }, append: true },
  'a+': { open: { create: true }, access: { read: true, write: true }, append: true },
};

export function fileOptions(options: string | null | undefined | FileOptions): FileOptions {
  return typeof options === 'string' ? { encoding: options } : (options ?? {});
}

/** Returns what `O_…` flags mean. Those that change nothing here are ignored, as `O_NONBLOCK`. */
function howOf(flags: number): OpenHow {
  const has = (flag: number) => (flags & flag) !== 0;
  const { O_RDONLY, O_RDWR, O_WRONLY, O_CREAT, O_EXCL, O_TRUNC, O_DIRECTORY, O_APPEND, O_NOFOLLOW } = constants;
  const access = flags & (O_WRONLY | O_RDWR);
  return {
    open: { create: has(O_CREAT), exclusive: has(O_CREAT) && has(O_EXCL), truncate: has(O_TRUNC), directory: has(O_DIRECTORY) },
    access: { read: access === O_RDONLY || access === O_RDWR, write: access !== O_RDONLY },
    append: has(O_APPEND),
    noFollow: has(O_NOFOLLOW),
  };
}

export interface OpenFile {
  file: Descriptor;
  name: string;
  append: boolean;
}

export function openFile(path: PathLike, flag: string | number): OpenFile {
  const name = pathText(path);
  const how = typeof flag === 'number' ? howOf(flag) : FLAGS[flag];
  if (!how) throw Object.assign(new TypeError(`The argument 'flags' is invalid. Received '${flag}'`), { code: 'ERR_INVALID_ARG_VALUE' });
  const file = attempt('open', name, () => root().openAt({ symlinkFollow: !how.noFollow }, beneath(name), how.open, how.access));
  return { file, name, append: how.append ?? false };
}

/** Opens a file, passes it to `use` and closes it. */
function withFile<T>(path: PathLike, flag: string | number, use: (file: Descriptor, name: string, append: boolean) => T): T {
  const { file, name, append } = openFile(path, flag);
  try {
    return use(file, name, append);
  } finally {
    release(file);
  }
}

export function readBytes(path: PathLike, flag: string | number = 'r'): Uint8Array {
  return withFile(path, flag, (file, name) =>
    attempt('read', name, () => {
      const { type, size } = file.stat();
      if (type === 'directory') throw new SystemError('is-directory', 'read', name);
      const parts: Uint8Array[] = [];
      let at = 0;
      for (;;) {
        // One byte more than the file has finds its end without another call.
        const wanted = Math.min(CHUNK_BYTES, Math.max(Number(size) - at, 0) + 1);
        const [bytes, end] = file.read(u64(wanted), u64(at));
        if (bytes.length > 0) parts.push(bytes);
        at += bytes.length;
        if (end || bytes.length === 0) return joined(parts, at);
      }
    }),
  );
}

function joined(parts: Uint8Array[], length: number): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const out = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export function readFileSync(path: PathLike, options?: string | null | FileOptions): Buffer | string {
  const { encoding, flag } = fileOptions(options);
  const bytes = readBytes(path, flag);
  if (encoding === 'utf8' || encoding === 'utf-8') return decodeUtf8(bytes);
  const buffer = Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
  return encoding && encoding !== 'buffer' ? buffer.toString(encoding) : buffer;
}

/** Converts `data` to bytes. */
export function bytesOf(data: Data, encoding?: string | null): Uint8Array {
  if (typeof data === 'string') {
    const isUtf8 = !encoding || encoding === 'utf8' || encoding === 'utf-8';
    return isUtf8 ? encodeUtf8(data) : Buffer.from(data, encoding);
  }
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  const error = new TypeError(`The "data" argument must be of type string or an instance of Buffer, TypedArray or DataView. Received ${typeof data}`);
  throw Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' });
}

export function writeFileSync(path: PathLike, data: Data, options?: string | null | FileOptions): void {
  const { encoding, flag = 'w' } = fileOptions(options);
  const bytes = bytesOf(data, encoding);
  withFile(path, flag, (file, name, append) => writeAt(file, name, bytes, append ? undefined : 0));
}

/** Writes all bytes, at the end of the file if no place is given. */
export function writeAt(file: Descriptor, name: string, bytes: Uint8Array, place: number | undefined): void {
  attempt('write', name, () => {
    let at = place ?? Number(file.stat().size);
    for (let from = 0; from < bytes.length; ) {
      const written = Number(file.write(bytes.subarray(from, from + CHUNK_BYTES), u64(at)));
      if (written === 0) throw new SystemError('io', 'write', name);
      from += written;
      at += written;
    }
  });
}

export function appendFileSync(path: PathLike, data: Data, options?: string | null | FileOptions): void {
  writeFileSync(path, data, { flag: 'a', ...fileOptions(options) });
}

export function truncateSync(path: PathLike, length = 0): void {
  withFile(path, 'r+', (file, name) => attempt('ftruncate', name, () => file.setSize(u64(length))));
}

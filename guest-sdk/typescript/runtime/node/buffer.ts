/** `node:buffer`: the package `buffer`, with the engine's own conversions and what Node has beside. */
import * as module from 'buffer';
import { decodeUtf8, encodeUtf8 } from 'toolhost:engine';

export const Buffer = module.Buffer;

type Any = (...args: any[]) => any;

const isUtf8Name = (encoding: unknown) => encoding === undefined || encoding === null || /^utf-?8$/i.test(String(encoding));
const isBase64Url = (encoding: unknown) => typeof encoding === 'string' && encoding.toLowerCase() === 'base64url';

/** The package reads both alphabets of base64 under one name. */
const plain = (value: unknown) => (isBase64Url(value) ? 'base64' : value);

/** Makes a function take `base64url` where it takes an encoding. */
function withBase64Url(target: any, ...names: string[]): void {
  for (const name of names) {
    const original = target[name] as Any;
    target[name] = function (this: unknown, ...args: unknown[]) {
      return original.apply(this, args.map(plain));
    };
  }
}

withBase64Url(Buffer, 'alloc', 'isEncoding');

const byteLength = Buffer.byteLength as Any;
/** The length that text in base64 says, whatever else is in it. */
Buffer.byteLength = ((value: unknown, encoding?: unknown) =>
  typeof value === 'string' && /^base64(url)?$/i.test(String(encoding)) ? Math.floor((value.replace(/=+$/, '').length * 3) / 4) : byteLength(value, encoding)) as typeof Buffer.byteLength;

withBase64Url(Buffer.prototype, 'write', 'fill', 'indexOf', 'lastIndexOf', 'includes');

const from = Buffer.from as Any;
Buffer.from = ((value: any, encoding?: any, length?: any) => {
  if (typeof value !== 'string') return from(value, encoding, length);
  // What is no pair of digits ends the bytes.
  if (/^hex$/i.test(encoding)) return from(/^(?:[0-9a-f]{2})*/i.exec(value)![0], 'hex');
  if (!isUtf8Name(encoding)) return from(value, plain(encoding), length);
  const bytes = encodeUtf8(value);
  return from(bytes.buffer, bytes.byteOffset, bytes.length);
}) as typeof Buffer.from;

interface Native {
  toHex?(): string;
  toBase64?(options?: { alphabet?: string; omitPadding?: boolean }): string;
}

const toText = Buffer.prototype.toString as Any;
Buffer.prototype.toString = function (this: Uint8Array, encoding?: string, start = 0, end = this.length): string {
  if (isUtf8Name(encoding)) return decodeUtf8(this.subarray(start, end));
  const name = String(encoding).toLowerCase();
  const bytes = new Uint8Array(this.buffer, this.byteOffset, this.length).subarray(Math.max(0, start), Math.max(0, end)) as Uint8Array & Native;
  if (name === 'hex' && bytes.toHex) return bytes.toHex();
  if (name === 'base64' && bytes.toBase64) return bytes.toBase64();
  if (name !== 'base64url') return toText.call(this, encoding, start, end);
  return toText.call(this, 'base64', start, end).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
};

Object.assign(Buffer, {
  copyBytesFrom(view: ArrayBufferView & { length: number; BYTES_PER_ELEMENT: number }, offset = 0, length = view.length - offset) {
    const size = view.BYTES_PER_ELEMENT;
    return Buffer.from(new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice(offset * size, (offset + length) * size));
  },
});

function transcode(source: Uint8Array, from: string, to: string): Uint8Array {
  return Buffer.from(Buffer.from(source).toString(from as BufferEncoding), to as BufferEncoding);
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    decodeUtf8(bytes, true);
    return true;
  } catch {
    return false;
  }
}

type BufferEncoding = Parameters<typeof Buffer.from>[1] & string;

export default {
  ...module,
  Buffer,
  atob,
  btoa,
  constants: { MAX_LENGTH: 2 ** 31 - 1, MAX_STRING_LENGTH: 2 ** 29 - 24 },
  isAscii: (bytes: Uint8Array) => bytes.every((byte) => byte < 0x80),
  isUtf8,
  transcode,
  get Blob() {
    return globalThis.Blob;
  },
  get File() {
    return globalThis.File;
  },
};

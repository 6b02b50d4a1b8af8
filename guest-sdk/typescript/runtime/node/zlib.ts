/** `node:zlib`: the package `fflate`. There is no Brotli. */
import * as fflate from 'fflate';
import { Buffer } from './buffer';

type Data = string | ArrayBuffer | ArrayBufferView;
type Options = { level?: number; dictionary?: Uint8Array };
type Convert = (bytes: Uint8Array, options: object) => Uint8Array;
type Callback = (error: unknown, value?: Uint8Array) => void;

function bytesOf(data: Data): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data);
  return ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data);
}

/** Codes of Node by the numbers of the package. */
const CODES = ['Z_BUF_ERROR', 'Z_DATA_ERROR', 'Z_DATA_ERROR', 'Z_DATA_ERROR', 'Z_DATA_ERROR', 'Z_DATA_ERROR', 'Z_DATA_ERROR'];

function sync(convert: Convert): (data: Data, options?: Options) => Uint8Array {
  return (data, { level = 6, dictionary } = {}) => {
    try {
      const bytes = convert(bytesOf(data), { level: level < 0 ? 6 : level, mtime: 0, ...(dictionary && { dictionary }) });
      return Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
    } catch (error) {
      const { code, message } = error as { code?: number; message: string };
      throw Object.assign(new Error(message, { cause: error }), { code: CODES[code ?? 1] ?? 'Z_DATA_ERROR', errno: -3 });
    }
  };
}

function withCallback(act: (data: Data, options?: Options) => Uint8Array): (data: Data, ...rest: any[]) => void {
  return (data, ...rest) => {
    const callback = rest.pop() as Callback;
    let answer: [unknown, Uint8Array?];
    try {
      answer = [null, act(data, ...rest)];
    } catch (error) {
      answer = [error];
    }
    setImmediate(() => callback(...answer));
  };
}

export const conversions = {
  deflate: sync(fflate.zlibSync as Convert),
  deflateRaw: sync(fflate.deflateSync as Convert),
  gunzip: sync((bytes) => fflate.gunzipSync(bytes)),
  gzip: sync(fflate.gzipSync as Convert),
  inflate: sync((bytes, options) => fflate.unzlibSync(bytes, options)),
  inflateRaw: sync((bytes, options) => fflate.inflateSync(bytes, options)),
  unzip: sync((bytes) => fflate.decompressSync(bytes)),
};

const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function crc32(data: Data, from = 0): number {
  let value = ~from;
  for (const byte of bytesOf(data)) value = TABLE[(value ^ byte) & 255]! ^ (value >>> 8);
  return ~value >>> 0;
}

const functions = Object.entries(conversions).flatMap(([name, act]) => [
  [`${name}Sync`, act],
  [name, withCallback(act)],
]);

export default {
  ...(Object.fromEntries(functions) as Record<string, unknown>),
  crc32,
  constants: { Z_NO_COMPRESSION: 0, Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1, Z_NO_FLUSH: 0, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4 },
};

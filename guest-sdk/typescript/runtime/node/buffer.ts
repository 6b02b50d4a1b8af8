/** `node:buffer`: the package `buffer`, with the engine's own UTF-8. */
import * as module from 'buffer';
import { decodeUtf8, encodeUtf8 } from 'toolhost:engine';

export const Buffer = module.Buffer;

const isUtf8 = (encoding: unknown) => encoding === undefined || encoding === 'utf8' || encoding === 'utf-8';

const from = Buffer.from as (...args: any[]) => module.Buffer;
Buffer.from = ((value: any, encoding?: any, length?: any) => {
  if (typeof value !== 'string' || !isUtf8(encoding)) return from(value, encoding, length);
  const bytes = encodeUtf8(value);
  return from(bytes.buffer, bytes.byteOffset, bytes.length);
}) as typeof Buffer.from;

const toText = Buffer.prototype.toString as (...args: any[]) => string;
Buffer.prototype.toString = function (this: Uint8Array, encoding?: string, start = 0, end = this.length): string {
  return isUtf8(encoding) ? decodeUtf8(this.subarray(start, end)) : toText.call(this, encoding, start, end);
};

export default { ...module, Buffer };

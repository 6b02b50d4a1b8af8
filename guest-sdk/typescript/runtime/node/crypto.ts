/** `node:crypto` without hashes: random values, and comparison. */
import { Buffer } from './buffer';
import { crypto, getRandomValues, randomUUID } from '../web/crypto';
import { cryptography } from '../refused';
import { fillRandom, randomFraction } from '../web/random';

type Callback<T> = (error: unknown, value?: T) => void;

/** Returns a value, or passes it to a callback. */
function answered<T>(value: T, callback?: Callback<T>): T | undefined {
  if (!callback) return value;
  setImmediate(() => callback(null, value));
  return undefined;
}

function randomBytes(length: number, callback?: Callback<Uint8Array>): Uint8Array | undefined {
  const bytes = Buffer.alloc(length);
  fillRandom(bytes);
  return answered(bytes as Uint8Array, callback);
}

/** An integer from `low` (0) up to, but not including, `high`. */
function randomInt(low: number, high?: number | Callback<number>, callback?: Callback<number>): number | undefined {
  const [from, to, act] = typeof high === 'number' ? [low, high, callback] : [0, low, high];
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || !(to > from)) {
    throw Object.assign(new RangeError('The value of "max" is out of range: it must be a safe integer greater than "min"'), { code: 'ERR_OUT_OF_RANGE' });
  }
  return answered(from + Math.floor(randomFraction() * (to - from)), act);
}

function randomFillSync<T extends ArrayBufferView | ArrayBuffer>(target: T, offset = 0, size?: number): T {
  const bytes = ArrayBuffer.isView(target) ? new Uint8Array(target.buffer, target.byteOffset, target.byteLength) : new Uint8Array(target);
  fillRandom(bytes.subarray(offset, size === undefined ? undefined : offset + size));
  return target;
}

function randomFill(target: ArrayBufferView, ...rest: any[]): void {
  const callback = rest.pop() as Callback<ArrayBufferView>;
  answered(randomFillSync(target, ...rest), callback);
}

/** Compares without telling by its time where the bytes differ. */
function timingSafeEqual(a: ArrayBufferView, b: ArrayBufferView): boolean {
  const [left, right] = [a, b].map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength)) as [Uint8Array, Uint8Array];
  if (left.length !== right.length) {
    throw Object.assign(new RangeError('Input buffers must have the same byte length'), { code: 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH' });
  }
  let difference = 0;
  for (let at = 0; at < left.length; at += 1) difference |= left[at]! ^ right[at]!;
  return difference === 0;
}

export default {
  ...cryptography,
  constants: {},
  getRandomValues,
  pseudoRandomBytes: randomBytes,
  randomBytes,
  randomFill,
  randomFillSync,
  randomInt,
  randomUUID,
  timingSafeEqual,
  webcrypto: crypto,
};

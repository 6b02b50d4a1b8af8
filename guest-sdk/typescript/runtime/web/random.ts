/** Random numbers from the host: those of QuickJS are the same in every instance. */
import { getRandomBytes } from 'wasi:random/random';
import { u64 } from 'toolhost:engine';
import { noteUse } from '../snapshot';

/** The most the host gives at once is 64 KiB. */
const CHUNK_BYTES = 32_768;

/** Bytes that are requested at once for small numbers. */
const POOL_BYTES = 512;

let seed = 1;

/** Replaces the host's numbers while the tool is built; nothing made from them is kept. */
function standIn(): number {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed / 2_147_483_647;
}

/** Fills the bytes of `target`. */
export function fillRandom(target: Uint8Array): void {
  if (noteUse('random numbers')) {
    for (let at = 0; at < target.length; at += 1) target[at] = standIn() * 256;
    return;
  }
  for (let at = 0; at < target.length; at += CHUNK_BYTES) {
    const length = Math.min(CHUNK_BYTES, target.length - at);
    target.set(getRandomBytes(u64(length) as number), at);
  }
}

let pool = new DataView(new ArrayBuffer(0));
let next = 0;

/** `Math.random`: 53 random bits. */
export function randomFraction(): number {
  if (noteUse('random numbers')) return standIn();
  if (next + 8 > pool.byteLength) {
    const bytes = new Uint8Array(POOL_BYTES);
    fillRandom(bytes);
    pool = new DataView(bytes.buffer);
    next = 0;
  }
  const high = pool.getUint32(next) >>> 5;
  const low = pool.getUint32(next + 4) >>> 6;
  next += 8;
  return (high * 2 ** 26 + low) / 2 ** 53;
}

/** Random values of `node:crypto`. */
import { Buffer } from './buffer';
import { crypto, getRandomValues, randomUUID } from '../web/crypto';
import { cryptography } from '../refused';
import { fillRandom, randomFraction } from '../web/random';

function randomBytes(length: number): Uint8Array {
  const bytes = Buffer.alloc(length);
  fillRandom(bytes);
  return bytes;
}

/** An integer from `low` (0) up to, but not including, `high`. */
function randomInt(low: number, high?: number): number {
  const [from, to] = high === undefined ? [0, low] : [low, high];
  return from + Math.floor(randomFraction() * (to - from));
}

export default { ...cryptography, getRandomValues, randomBytes, randomInt, randomUUID, webcrypto: crypto };

/** Hashes, and what is built of them, by their names in Node. */
import { hkdf } from '@noble/hashes/hkdf.js';
import { hmac } from '@noble/hashes/hmac.js';
import { md5, ripemd160, sha1 } from '@noble/hashes/legacy.js';
import { pbkdf2 } from '@noble/hashes/pbkdf2.js';
import { scrypt } from '@noble/hashes/scrypt.js';
import { sha224, sha256, sha384, sha512, sha512_256 } from '@noble/hashes/sha2.js';
import { sha3_224, sha3_256, sha3_384, sha3_512 } from '@noble/hashes/sha3.js';
import { blake2b, blake2s } from '@noble/hashes/blake2.js';

type Bytes = Uint8Array;

export interface Hasher {
  update(bytes: Bytes): Hasher;
  digest(): Bytes;
  clone(): Hasher;
}

export interface HashFunction {
  (bytes: Bytes): Bytes;
  create(): Hasher;
  outputLen: number;
  blockLen: number;
}

const FUNCTIONS: Record<string, unknown> = {
  md5,
  ripemd160,
  rmd160: ripemd160,
  sha1,
  sha224,
  sha256,
  sha384,
  sha512,
  'sha512-256': sha512_256,
  'sha3-224': sha3_224,
  'sha3-256': sha3_256,
  'sha3-384': sha3_384,
  'sha3-512': sha3_512,
  blake2b512: blake2b,
  blake2s256: blake2s,
};

export const NAMES = Object.keys(FUNCTIONS);

/** Returns the hash of a name such as `sha256`, `SHA-256` or `RSA-SHA256`. Undefined if there is none. */
export function hashOf(name: string): HashFunction | undefined {
  const lower = String(name).toLowerCase().replace(/^rsa-/, '');
  return (FUNCTIONS[lower] ?? FUNCTIONS[lower.replace('sha-', 'sha')]) as HashFunction | undefined;
}

type Derive = (hash: HashFunction, ...rest: any[]) => Bytes;

export const derive = {
  hmac: (hash: HashFunction, key: Bytes) => (hmac as unknown as { create(hash: HashFunction, key: Bytes): Hasher }).create(hash, key),
  hkdf: hkdf as unknown as Derive,
  pbkdf2: pbkdf2 as unknown as Derive,
  scrypt: scrypt as unknown as (password: Bytes, salt: Bytes, options: object) => Bytes,
};

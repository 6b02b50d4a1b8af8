/** `crypto.subtle`: digests, and keys of bytes for HMAC, PBKDF2 and HKDF. There are no ciphers and no pairs of keys. */
import { Buffer } from '../node/buffer';
import { derive, hashOf, type HashFunction } from '../node/hashes';
import { fillRandom } from './random';
import './dom-exception';

type Data = ArrayBuffer | ArrayBufferView;
type Algorithm = any;

const bytesOfKey = new WeakMap<Key, Uint8Array>();

class Key {
  constructor(
    readonly type: string,
    readonly algorithm: object,
    readonly extractable: boolean,
    readonly usages: string[],
  ) {}

  get [Symbol.toStringTag](): string {
    return 'CryptoKey';
  }
}

function bytesOf(data: Data): Uint8Array {
  return ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data);
}

function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return bytes.slice().buffer as ArrayBuffer;
}

function nameOf(algorithm: Algorithm): string {
  return String(typeof algorithm === 'string' ? algorithm : algorithm?.name).toUpperCase();
}

function notHere(what: string): Error {
  return Object.assign(new DOMException(`${what} does not exist in the sandbox of a tool`, 'NotSupportedError'), {
    suggestion: 'the author must correct the tool: there are SHA-1 to SHA-512, HMAC, PBKDF2 and HKDF; packages in JavaScript, such as @noble/ciphers and @noble/curves, do the rest',
  });
}

function hashNamed(algorithm: Algorithm): HashFunction {
  const name = nameOf(algorithm);
  const hash = /^SHA-\d+$/.test(name) ? hashOf(name) : undefined;
  if (!hash) throw notHere(`the digest ${name}`);
  return hash;
}

/** Returns the key's bytes, if it may be used so. */
function used(key: Key, usage: string, name: string): Uint8Array {
  const bytes = bytesOfKey.get(key);
  if (!bytes || (key.algorithm as { name: string }).name !== name || !key.usages.includes(usage)) {
    throw new DOMException(`the key is none for ${usage} with ${name}`, 'InvalidAccessError');
  }
  return bytes;
}

function keyOf(bytes: Uint8Array, algorithm: Algorithm, extractable: boolean, usages: string[]): Key {
  const name = nameOf(algorithm);
  if (!['HMAC', 'PBKDF2', 'HKDF'].includes(name)) throw notHere(`a key for ${name}`);
  const hmac = name === 'HMAC' ? { hash: { name: nameOf((algorithm as { hash: Algorithm }).hash) }, length: bytes.length * 8 } : {};
  const key = new Key('secret', { name, ...hmac }, extractable, [...usages]);
  bytesOfKey.set(key, bytes);
  return key;
}

const subtle = {
  async digest(algorithm: Algorithm, data: Data): Promise<ArrayBuffer> {
    return bufferOf(hashNamed(algorithm)(bytesOf(data)));
  },

  async importKey(format: string, data: any, algorithm: Algorithm, extractable: boolean, usages: string[]): Promise<Key> {
    if (format === 'raw') return keyOf(bytesOf(data).slice(), algorithm, extractable, usages);
    if (format === 'jwk' && data?.kty === 'oct') return keyOf(Uint8Array.from(Buffer.from(String(data.k), 'base64')), algorithm, extractable, usages);
    throw notHere(`a key in the format ${format}`);
  },

  async exportKey(format: string, key: Key): Promise<unknown> {
    const bytes = bytesOfKey.get(key);
    if (!bytes || !key.extractable) throw new DOMException('the key is not extractable', 'InvalidAccessError');
    if (format === 'raw') return bufferOf(bytes);
    if (format !== 'jwk') throw notHere(`a key in the format ${format}`);
    return { kty: 'oct', k: Buffer.from(bytes).toString('base64url' as 'base64'), ext: true, key_ops: key.usages };
  },

  async generateKey(algorithm: Algorithm, extractable: boolean, usages: string[]): Promise<Key> {
    if (nameOf(algorithm) !== 'HMAC') throw notHere(`a key for ${nameOf(algorithm)}`);
    const { hash, length } = algorithm as { hash: Algorithm; length?: number };
    const bytes = new Uint8Array(length ? length / 8 : hashNamed(hash).blockLen);
    fillRandom(bytes);
    return keyOf(bytes, algorithm, extractable, usages);
  },

  async sign(algorithm: Algorithm, key: Key, data: Data): Promise<ArrayBuffer> {
    return bufferOf(mac(algorithm, key, data, 'sign'));
  },

  async verify(algorithm: Algorithm, key: Key, signature: Data, data: Data): Promise<boolean> {
    const [expected, given] = [mac(algorithm, key, data, 'verify'), bytesOf(signature)];
    let difference = expected.length ^ given.length;
    for (let at = 0; at < expected.length; at += 1) difference |= expected[at]! ^ (given[at] ?? 0);
    return difference === 0;
  },

  async deriveBits(algorithm: Algorithm, key: Key, length: number, usage = 'deriveBits'): Promise<ArrayBuffer> {
    const name = nameOf(algorithm);
    const { hash, salt, info, iterations } = algorithm as { hash: Algorithm; salt: Data; info: Data; iterations: number };
    const bytes = used(key, usage, name);
    if (name === 'PBKDF2') return bufferOf(derive.pbkdf2(hashNamed(hash), bytes, bytesOf(salt), { c: iterations, dkLen: length / 8 }));
    if (name === 'HKDF') return bufferOf(derive.hkdf(hashNamed(hash), bytes, bytesOf(salt), bytesOf(info), length / 8));
    throw notHere(`deriving with ${name}`);
  },

  async deriveKey(algorithm: Algorithm, key: Key, derived: Algorithm, extractable: boolean, usages: string[]): Promise<Key> {
    if (nameOf(derived) !== 'HMAC') throw notHere(`a key for ${nameOf(derived)}`);
    const { hash, length } = derived as { hash: Algorithm; length?: number };
    const bits = await this.deriveBits(algorithm, key, length ?? hashNamed(hash).blockLen * 8, 'deriveKey');
    return keyOf(new Uint8Array(bits), derived, extractable, usages);
  },

  async encrypt(algorithm: Algorithm): Promise<never> {
    throw notHere(`encryption with ${nameOf(algorithm)}`);
  },

  async decrypt(algorithm: Algorithm): Promise<never> {
    throw notHere(`decryption with ${nameOf(algorithm)}`);
  },
};

function mac(algorithm: Algorithm, key: Key, data: Data, usage: string): Uint8Array {
  if (nameOf(algorithm) !== 'HMAC') throw notHere(`${usage} with ${nameOf(algorithm)}`);
  const bytes = used(key, usage, 'HMAC');
  return derive.hmac(hashNamed((key.algorithm as { hash: Algorithm }).hash), bytes).update(bytesOf(data)).digest();
}

// StarlingMonkey has some of it.
if (!globalThis.crypto.subtle || !('deriveBits' in globalThis.crypto.subtle)) {
  Object.defineProperty(globalThis.crypto, 'subtle', { value: subtle, configurable: true, enumerable: true });
}
if (!('CryptoKey' in globalThis)) Object.defineProperty(globalThis, 'CryptoKey', { value: Key, configurable: true, writable: true });

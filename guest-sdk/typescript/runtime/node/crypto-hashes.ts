/** `node:crypto` with hashes, which are bundled only into tools that name one of these functions. */
import { Buffer } from './buffer';
import { derive, hashOf, NAMES, type HashFunction, type Hasher } from './hashes';
import basics from './crypto';
import '../web/subtle';

type Data = string | ArrayBuffer | ArrayBufferView;
type Callback = (error: unknown, value?: unknown) => void;

function bytesOf(data: Data, encoding?: string): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data, encoding as 'utf8');
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  throw Object.assign(new TypeError(`The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView. Received ${typeof data}`), {
    code: 'ERR_INVALID_ARG_TYPE',
  });
}

function known(name: string): HashFunction {
  const hash = hashOf(name);
  if (hash) return hash;
  throw Object.assign(new Error(`Digest method not supported: ${name}`), {
    code: 'ERR_CRYPTO_INVALID_DIGEST',
    suggestion: `the author must correct the tool: there are ${NAMES.join(', ')}`,
  });
}

/** What `createHash` and `createHmac` return. */
class Hash {
  #hasher: Hasher;
  #isDone = false;

  constructor(hasher: Hasher) {
    this.#hasher = hasher;
  }

  update(data: Data, encoding?: string): this {
    this.#check();
    this.#hasher.update(bytesOf(data, encoding));
    return this;
  }

  digest(encoding?: string): Uint8Array | string {
    this.#check();
    this.#isDone = true;
    return encoded(this.#hasher.digest(), encoding);
  }

  copy(): Hash {
    this.#check();
    return new Hash(this.#hasher.clone());
  }

  /** As the writable stream that it is in Node. */
  write(data: Data, encoding?: string): boolean {
    this.update(data, encoding);
    return true;
  }

  end(data?: Data): this {
    if (data !== undefined) this.update(data);
    return this;
  }

  read(): Uint8Array | string {
    return this.digest();
  }

  #check(): void {
    if (this.#isDone) throw Object.assign(new Error('Digest already called'), { code: 'ERR_CRYPTO_HASH_FINALIZED' });
  }
}

function encoded(bytes: Uint8Array, encoding?: string): Uint8Array | string {
  const buffer = Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
  return encoding === undefined || encoding === 'buffer' ? buffer : buffer.toString(encoding as 'hex');
}

function createHash(name: string): Hash {
  return new Hash(known(name).create());
}

/** A key of bytes. There are no pairs of keys. */
class KeyObject {
  readonly type = 'secret';
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get symmetricKeySize(): number {
    return this.#bytes.length;
  }

  export(options: { format?: string } = {}): unknown {
    if (options.format === 'jwk') return { kty: 'oct', k: Buffer.from(this.#bytes).toString('base64url' as 'base64') };
    return Buffer.from(this.#bytes);
  }

  equals(other: KeyObject): boolean {
    return Buffer.from(this.#bytes).equals(Buffer.from(other.export() as Uint8Array));
  }
}

function createSecretKey(key: Data, encoding?: string): KeyObject {
  return new KeyObject(Uint8Array.from(bytesOf(key, encoding)));
}

function createHmac(name: string, key: Data | KeyObject): Hash {
  return new Hash(derive.hmac(known(name), bytesOf(key instanceof KeyObject ? (key.export() as Uint8Array) : key)));
}

function hash(name: string, data: Data, encoding = 'hex'): Uint8Array | string {
  return encoded(known(name)(bytesOf(data)), encoding);
}

function pbkdf2Sync(password: Data, salt: Data, iterations: number, length: number, name: string): Uint8Array | string {
  return encoded(derive.pbkdf2(known(name), bytesOf(password), bytesOf(salt), { c: iterations, dkLen: length }));
}

interface ScryptOptions {
  N?: number;
  cost?: number;
  r?: number;
  blockSize?: number;
  p?: number;
  parallelization?: number;
}

function scryptSync(password: Data, salt: Data, length: number, options: ScryptOptions = {}): Uint8Array | string {
  const { N = options.cost ?? 16_384, r = options.blockSize ?? 8, p = options.parallelization ?? 1 } = options;
  return encoded(derive.scrypt(bytesOf(password), bytesOf(salt), { N, r, p, dkLen: length }));
}

function hkdfSync(name: string, key: Data, salt: Data, info: Data, length: number): ArrayBuffer {
  const bytes = derive.hkdf(known(name), bytesOf(key), bytesOf(salt), bytesOf(info), length);
  return bytes.slice().buffer as ArrayBuffer;
}

/** Returns the form with a callback as the last argument. */
function withCallback(act: (...args: any[]) => unknown): (...args: any[]) => void {
  return (...args) => {
    const callback = args.pop() as Callback;
    const value = act(...args);
    setImmediate(() => callback(null, value));
  };
}

export default {
  ...basics,
  KeyObject,
  createHash,
  createHmac,
  createSecretKey,
  getHashes: () => [...NAMES],
  hash,
  hkdf: withCallback(hkdfSync),
  hkdfSync,
  pbkdf2: withCallback(pbkdf2Sync),
  pbkdf2Sync,
  scrypt: withCallback(scryptSync),
  scryptSync,
  subtle: crypto.subtle,
  webcrypto: crypto,
};

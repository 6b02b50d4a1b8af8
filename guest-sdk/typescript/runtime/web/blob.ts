/** `Blob` and `File`. */
import { define } from './define';
import { decodeUtf8, encodeUtf8 } from 'toolhost:engine';

type Part = string | ArrayBuffer | ArrayBufferView | OwnBlob;

function bytesOf(part: Part): Uint8Array {
  if (part instanceof OwnBlob) return contentOf(part);
  if (part instanceof ArrayBuffer) return new Uint8Array(part);
  if (ArrayBuffer.isView(part)) return new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
  return encodeUtf8(String(part));
}

/** Returns the bytes of a blob, which nobody changes. */
let contentOf: (blob: OwnBlob) => Uint8Array;

class OwnBlob {
  readonly #bytes: Uint8Array;
  readonly #type: string;

  constructor(parts: Iterable<Part> = [], options: { type?: string } = {}) {
    if (typeof parts !== 'object' || parts === null || !(Symbol.iterator in parts)) throw new TypeError('The "sources" argument must be a sequence');
    this.#bytes = joined([...parts].map(bytesOf));
    const type = String(options?.type ?? '');
    this.#type = /^[\x20-\x7e]*$/.test(type) ? type.toLowerCase() : '';
  }

  static {
    contentOf = (blob) => blob.#bytes;
  }

  get size(): number {
    return this.#bytes.length;
  }

  get type(): string {
    return this.#type;
  }

  slice(start?: number, end?: number, type = ''): OwnBlob {
    return new OwnBlob([this.#bytes.slice(start, end)], { type });
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#bytes.slice().buffer as ArrayBuffer;
  }

  async bytes(): Promise<Uint8Array> {
    return this.#bytes.slice();
  }

  async text(): Promise<string> {
    return decodeUtf8(this.#bytes).replace(/^\ufeff/, '');
  }

  stream(): ReadableStream {
    const bytes = this.#bytes.slice();
    return new ReadableStream({
      start(controller) {
        if (bytes.length > 0) controller.enqueue(bytes);
        controller.close();
      },
    });
  }

  get [Symbol.toStringTag](): string {
    return 'Blob';
  }
}

class OwnFile extends OwnBlob {
  readonly name: string;
  readonly lastModified: number;

  constructor(parts: Iterable<Part>, name: string, options: { type?: string; lastModified?: number } = {}) {
    super(parts, options);
    this.name = String(name);
    this.lastModified = options?.lastModified ?? Date.now();
  }

  override get [Symbol.toStringTag](): string {
    return 'File';
  }
}

function joined(parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

Object.defineProperty(OwnBlob, 'name', { value: 'Blob' });
Object.defineProperty(OwnFile, 'name', { value: 'File' });
define({ Blob: OwnBlob, File: OwnFile });

/** The body of a request or a response. */
import { decodeUtf8, encodeUtf8 } from 'toolhost:engine';
import { parseForm, toMultipart } from '../form-data';

/** Returns the next bytes of a body; undefined at its end. */
export type Read = () => Promise<Uint8Array | undefined>;

/** What a body is made of. */
export interface Content {
  /** Bytes that are there already, or else a stream, or what the host gives. */
  source: Uint8Array | ReadableStream<Uint8Array> | Read;
  type?: string;
}

export async function toBytes({ source }: Content): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source;
  return joined(source instanceof ReadableStream ? readerOf(source) : source);
}

/** Converts what a program passes as a body. */
export function contentOf(body: unknown): Content {
  if (body instanceof ReadableStream) return { source: body };
  if (body instanceof URLSearchParams) return { source: encodeUtf8(body.toString()), type: 'application/x-www-form-urlencoded;charset=UTF-8' };
  if (body instanceof FormData) return contentOf(toMultipart(body));
  if (body instanceof Blob) {
    const blob = body;
    let isRead = false;
    const source = async () => {
      if (isRead) return undefined;
      isRead = true;
      return new Uint8Array(await blob.arrayBuffer());
    };
    return { source, ...(blob.type && { type: blob.type }) };
  }
  if (body instanceof ArrayBuffer) return { source: new Uint8Array(body.slice(0)) };
  if (ArrayBuffer.isView(body)) return { source: new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice() };
  if (typeof body === 'object' && body !== null && Symbol.asyncIterator in body) {
    const iterator = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    return { source: async () => (await iterator.next()).value };
  }
  return { source: encodeUtf8(String(body)), type: 'text/plain;charset=UTF-8' };
}

export abstract class Body {
  abstract readonly headers: { get(name: string): string | null };
  #content: Content | null;
  #isUsed = false;
  /** Whether what reads the body may be a copy of it. */
  #isTeed = false;
  #stream: ReadableStream<Uint8Array> | undefined;

  constructor(content: Content | null) {
    this.#content = content;
    if (content?.source instanceof ReadableStream) {
      if (content.source.locked) throw new TypeError('the stream of a body is locked');
      this.#stream = content.source;
    }
  }

  get body(): ReadableStream<Uint8Array> | null {
    if (!this.#content) return null;
    const { source } = this.#content;
    this.#stream ??= streamOf(source as Uint8Array | Read, () => {
      if (!this.#isTeed) this.#isUsed = true;
    });
    return this.#stream;
  }

  get bodyUsed(): boolean {
    return this.#isUsed;
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    const bytes = await this.#consume();
    return (bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice()).buffer as ArrayBuffer;
  }

  async bytes(): Promise<Uint8Array> {
    return this.#consume();
  }

  async blob(): Promise<Blob> {
    return new Blob([(await this.#consume()) as BlobPart], { type: plainType(this.headers.get('content-type') ?? '') });
  }

  async formData(): Promise<FormData> {
    return parseForm(await this.#consume(), this.headers.get('content-type') ?? '');
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  /** UTF-8 without a byte order mark; what is malformed becomes U+FFFD. */
  async text(): Promise<string> {
    const text = decodeUtf8(await this.#consume());
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }

  async #consume(): Promise<Uint8Array> {
    this.checkUnused();
    if (!this.#content) return new Uint8Array(0);
    this.#isUsed = true;
    return toBytes({ source: this.#stream ?? this.#content.source });
  }

  /** Throws if the body was read, or is being read. */
  protected checkUnused(): void {
    if (this.#isUsed || this.#stream?.locked) throw new TypeError('Body is unusable: Body has already been read');
  }

  /** Takes the body out of this object. */
  protected take(): Content | null {
    this.checkUnused();
    if (!this.#content) return null;
    this.#isUsed = true;
    return this.#stream ? { ...this.#content, source: this.#stream } : this.#content;
  }

  /** Returns a copy of the body, and keeps one. */
  protected tee(): Content | null {
    this.checkUnused();
    const content = this.#content;
    if (!content || (content.source instanceof Uint8Array && !this.#stream)) return content;
    const [mine, other] = this.body!.tee();
    this.#stream = mine;
    this.#isTeed = true;
    return { ...content, source: other };
  }
}

/** Returns a media type as the MIME Sniffing Standard writes it: without spaces. */
function plainType(type: string): string {
  return type.split(';').map((part) => part.trim()).join(';');
}

function streamOf(source: Uint8Array | Read, onRead: () => void): ReadableStream<Uint8Array> {
  const chunks = source instanceof Uint8Array ? [source] : [];
  const read = source instanceof Uint8Array ? async () => chunks.pop() : source;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        onRead();
        const chunk = await read();
        if (chunk === undefined) controller.close();
        else if (chunk.length > 0) controller.enqueue(chunk);
        else await this.pull!(controller);
      },
    },
    { highWaterMark: 0 },
  );
}

function readerOf(stream: ReadableStream): Read {
  const reader = stream.getReader();
  return async () => {
    const { done, value } = await reader.read();
    if (done) return undefined;
    if (!(value instanceof Uint8Array)) throw new TypeError('a chunk of a body is not a Uint8Array');
    return value;
  };
}

async function joined(read: Read): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const chunk = await read();
    if (chunk === undefined) break;
    chunks.push(chunk);
    length += chunk.length;
  }
  if (chunks.length === 1) return chunks[0]!;
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

import type { Readable, Writable } from 'node:stream';

import { ConnectionError, RpcError } from './errors.js';
import { fromLine, toLine } from './line.js';

interface Waiting {
  resolve: (result: unknown) => void;
  reject: (reason: unknown) => void;
  signal: AbortSignal | undefined;
}

interface Message {
  id?: number | null;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: { code?: string; suggestion?: string; diagnostics?: [] } };
}

/** JSON-RPC over two streams, one message per line. */
export class Connection {
  #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #parts: Buffer[] = [];
  #ended: ConnectionError | undefined;
  /** Receives the notifications of the server. */
  onNotification: (method: string, params: unknown) => void = () => {};
  /** Is called once, when the connection has ended. */
  onEnd: () => void = () => {};

  constructor(
    reader: Readable,
    private readonly writer: Writable,
    /** Says why the server closed the connection. */
    reason: () => Promise<string> = async () => 'the server has closed the connection',
  ) {
    const closed = async () => this.end(await reason());
    reader.on('data', (chunk: Buffer) => this.#receive(chunk));
    reader.on('close', closed);
    reader.on('error', (error) => this.end(error.message));
    writer.on('error', closed);
  }

  /** Sends a request. When `signal` aborts, the server drops it, and the promise rejects with the reason. */
  async request(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    signal?.throwIfAborted();
    if (this.#ended) throw this.#ended;
    const id = ++this.#lastId;
    const line = toLine({ jsonrpc: '2.0', id, method, params });
    return new Promise((resolve, reject) => {
      const abort = () => this.#send(toLine({ jsonrpc: '2.0', method: '$/cancel', params: { id } }));
      const done = <T>(settle: (value: T) => void) => (value: T) => {
        signal?.removeEventListener('abort', abort);
        settle(value);
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.#waiting.set(id, { resolve: done(resolve), reject: done(reject), signal });
      this.#send(line);
    });
  }

  /** Rejects the requests that are not answered, and those to come. */
  end(reason: string): void {
    if (this.#ended) return;
    this.#ended = new ConnectionError(reason);
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
    this.onEnd();
  }

  #send(line: string): void {
    if (!this.#ended) this.writer.write(`${line}\n`);
  }

  #receive(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      const line = Buffer.concat([...this.#parts, chunk.subarray(start, end)]).toString();
      this.#parts = [];
      start = end + 1;
      this.#handle(line);
    }
    this.#parts.push(chunk.subarray(start));
  }

  #handle(line: string): void {
    let message: Message;
    try {
      message = fromLine(line) as Message;
    } catch {
      this.end(`the server sent a line that is not JSON: ${line.slice(0, 80)}`);
      return;
    }
    if (message.method !== undefined) {
      this.onNotification(message.method, message.params);
    } else if (typeof message.id === 'number') {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (waiting) settle(waiting, message);
    } else {
      this.end(`the server could not read a message: ${message.error?.message}`);
    }
  }
}

function settle({ resolve, reject, signal }: Waiting, { result, error }: Message): void {
  if (!error) {
    resolve(result);
  } else if (signal?.aborted && error.data?.code === 'E_RPC_CANCELLED') {
    reject(signal.reason);
  } else {
    const { code = '', suggestion = '', diagnostics = [] } = error.data ?? {};
    reject(new RpcError(error.code, error.message, code, suggestion, diagnostics));
  }
}

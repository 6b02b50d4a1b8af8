/** HTTP over `wasi:http`: one request, without redirects. */
import { handle } from 'wasi:http/outgoing-handler';
import { Fields, OutgoingBody, OutgoingRequest, type FutureIncomingResponse, type IncomingResponse } from 'wasi:http/types';
import { u64 } from 'toolhost:engine';
import { stopWaiting, whenReady, type Waiter } from './waits';
import type { Pollable } from 'wasi:io/poll';

export interface Sent {
  method: string;
  url: URL;
  headers: Iterable<[string, string]>;
  body: Uint8Array | undefined;
  signal: AbortSignal;
}

export interface Reply {
  status: number;
  headers: [string, string][];
  /** Returns the next bytes; undefined at the end. */
  read(): Promise<Uint8Array | undefined>;
  /** Drops the connection. */
  close(): void;
}

/** The most that the host takes at once. */
const WRITE_BYTES = 4_096;

const READ_BYTES = 65_536;

const METHODS = ['get', 'head', 'post', 'put', 'delete', 'options', 'patch'];

/** Headers that the host sets. */
const OF_HOST = ['connection', 'content-length', 'host', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade', 'expect'];

/** Replies whose body is not read to its end. The engine would drop their resources in any order, and the host expects the inner ones first. */
const unread = new Set<Reply>();

const latin1 = new TextDecoder('latin1');

export async function send({ method, url, headers, body, signal }: Sent): Promise<Reply> {
  signal.throwIfAborted();
  const future = start(method, url, headers, body);
  let result = future.get();
  while (result === undefined || result === null) {
    await ready(future.subscribe(), signal, () => future[Symbol.dispose]?.());
    result = future.get();
  }
  future[Symbol.dispose]?.();
  return replyOf(unwrap(unwrap(result)) as IncomingResponse);
}

function start(method: string, url: URL, headers: Iterable<[string, string]>, body: Uint8Array | undefined): FutureIncomingResponse {
  const lower = method.toLowerCase();
  const isStandard = METHODS.includes(lower) && method === lower.toUpperCase();
  try {
    const fields = new Fields();
    for (const [name, value] of headers) {
      if (!OF_HOST.includes(name)) fields.append(name, bytesOf(value));
    }
    const length = body?.length ?? (['POST', 'PUT', 'PATCH'].includes(method) ? 0 : undefined);
    if (length !== undefined) fields.append('content-length', bytesOf(String(length)));
    const request = new OutgoingRequest(fields);
    request.setMethod(isStandard ? { tag: lower } : { tag: 'other', val: method });
    request.setScheme({ tag: url.protocol === 'https:' ? 'HTTPS' : 'HTTP' });
    request.setAuthority(url.host);
    request.setPathWithQuery(url.pathname + url.search);
    const outgoing = request.body();
    const future = handle(request, undefined);
    write(outgoing, body);
    return future;
  } catch (error) {
    throw networkError(payloadOf(error));
  }
}

function write(outgoing: OutgoingBody, body: Uint8Array | undefined): void {
  if (body && body.length > 0) {
    const stream = outgoing.write();
    try {
      for (let at = 0; at < body.length; at += WRITE_BYTES) stream.blockingWriteAndFlush(body.subarray(at, at + WRITE_BYTES));
    } catch {
      // The server has closed the connection, or the host has refused the request: the response tells.
      return;
    } finally {
      stream[Symbol.dispose]?.();
    }
  }
  OutgoingBody.finish(outgoing, undefined);
}

function replyOf(response: IncomingResponse): Reply {
  const fields = response.headers();
  const headers = fields.entries().map(([name, value]): [string, string] => [name, latin1.decode(value)]);
  fields[Symbol.dispose]?.();
  const status = response.status();
  const body = response.consume();
  const stream = body.stream();
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    unread.delete(reply);
    for (const each of [stream, body, response]) each[Symbol.dispose]?.();
  };
  const read = async (): Promise<Uint8Array | undefined> => {
    while (isOpen) {
      let chunk: Uint8Array;
      try {
        chunk = stream.read(u64(READ_BYTES));
      } catch (error) {
        const { tag, val } = payloadOf(error) as { tag?: string; val?: { toDebugString(): string; [Symbol.dispose]?(): void } };
        const why = tag === 'last-operation-failed' ? val?.toDebugString() : undefined;
        val?.[Symbol.dispose]?.();
        close();
        if (tag !== 'closed') throw networkError(why);
        break;
      }
      if (chunk.length > 0) return chunk;
      await ready(stream.subscribe());
    }
    return undefined;
  };
  const reply = { status, headers, read, close };
  unread.add(reply);
  return reply;
}

/** Waits until a pollable is ready. Rejects when the signal is aborted. */
function ready(pollable: Pollable, signal?: AbortSignal, onAbort?: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const waiter: Waiter = {
      ready() {
        signal?.removeEventListener('abort', abort);
        resolve();
      },
    };
    const abort = () => {
      stopWaiting(waiter);
      onAbort?.();
      reject(signal!.reason);
    };
    whenReady(pollable, waiter);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Returns the value of a `result` within a value. */
function unwrap(result: unknown): unknown {
  const { tag, val } = result as { tag: string; val: unknown };
  if (tag === 'err') throw networkError(val);
  return val;
}

/** The engine throws an error of the host as it is, or as the payload of its own error. */
function payloadOf(error: unknown): unknown {
  return (error as { payload?: unknown } | null)?.payload ?? error;
}

/** What the host's errors say, and the codes of Node, by their names. */
const ERRORS: Record<string, [says: string, code: string]> = {
  'DNS-timeout': ['the name was not looked up in time', 'EAI_AGAIN'],
  'DNS-error': ['the name does not exist', 'ENOTFOUND'],
  'destination-not-found': ['the name does not exist', 'ENOTFOUND'],
  'connection-refused': ['the server refused the connection', 'ECONNREFUSED'],
  'connection-terminated': ['the server closed the connection', 'ECONNRESET'],
  'connection-timeout': ['no connection in the time that a request may take, or that the call has left', 'ETIMEDOUT'],
  'connection-read-timeout': ['no answer in the time that a request may take, or that the call has left', 'ETIMEDOUT'],
  'connection-write-timeout': ['the server did not take the request in time', 'ETIMEDOUT'],
  'HTTP-response-timeout': ['no answer in the time that a request may take, or that the call has left', 'ETIMEDOUT'],
};

/** The host adds to the result of a call which request it denied, and what would allow it. */
function networkError(why: unknown): TypeError {
  const { tag, val } = (typeof why === 'object' && why !== null ? why : { tag: why }) as { tag?: unknown; val?: unknown };
  const detail = typeof val === 'string' ? `: ${val}` : '';
  const [says, code] = ERRORS[String(tag)] ?? ['', 'UND_ERR_SOCKET'];
  const text = `${String(tag ?? 'the connection failed')}${says && `: ${says}`}${detail}`;
  const cause = Object.assign(new Error(text), { code });
  return new TypeError(`fetch failed: ${text}`, { cause });
}

function bytesOf(latin1: string): Uint8Array {
  return Uint8Array.from(latin1, (unit) => unit.charCodeAt(0));
}

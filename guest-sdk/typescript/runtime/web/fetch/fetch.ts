/** `fetch` as the Fetch Standard has it. The host checks each request, and so each step of a redirect, by its policy. */
import { send, type Reply } from 'toolhost:http';
import './classes';
import { refuseAtBuild } from '../../snapshot';
import { define } from '../define';
import { toBytes, type Content } from './body';
import { CODINGS, decoded } from './decoding';
import { Headers } from './headers';
import { Request, parseUrl, type RequestInit } from './request';
import { received, type Response } from './response';

const MAX_REDIRECTS = 20;

const REDIRECTS = [301, 302, 303, 307, 308];

/** Headers of a body, and those that only the origin may see to which they were sent. */
const OF_BODY = ['content-encoding', 'content-language', 'content-length', 'content-location', 'content-type'];
const OF_ORIGIN = ['authorization', 'cookie', 'host', 'proxy-authorization'];

const WITHOUT_BODY = [204, 205, 304];

async function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  refuseAtBuild('`fetch` is called');
  const request = new Request(input, init);
  const { signal, redirect } = request;
  signal.throwIfAborted();
  const headers = new Headers(request.headers);
  for (const [name, value] of [['accept', '*/*'], ['accept-encoding', CODINGS], ['user-agent', 'toolhost']] as const) {
    if (!headers.has(name)) headers.set(name, value);
  }
  let content = request.content();
  const isStream = content !== null && !(content.source instanceof Uint8Array);
  let body = content && (await abortable(toBytes(content), signal));
  let { method } = request;
  let url = parseUrl(request.url);
  for (let redirects = 0; ; redirects += 1) {
    if (url.protocol === 'data:') return dataOf(url);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw failure(`the scheme of ${url.href} is neither http: nor https:`);
    const reply = await send({ method, url, headers, body: body ?? undefined, signal });
    const replied = new Headers(reply.headers);
    const location = REDIRECTS.includes(reply.status) ? replied.get('location') : null;
    if (location === null || redirect === 'manual') return responseOf(reply, replied, method, url, redirects > 0, signal);
    reply.close();
    if (redirect === 'error') throw failure(`${url.href} redirects, which the request does not allow`);
    if (redirects === MAX_REDIRECTS) throw failure(`more than ${MAX_REDIRECTS} redirects`);
    const next = parseUrl(location, url.href);
    if (next.hash === '') next.hash = url.hash;
    if (reply.status !== 303 && isStream) throw failure('a body that is a stream cannot be sent again after a redirect');
    if (reply.status === 303 ? method !== 'GET' && method !== 'HEAD' : reply.status < 303 && method === 'POST') {
      method = 'GET';
      content = body = null;
      for (const name of OF_BODY) headers.delete(name);
    }
    if (next.origin !== url.origin) for (const name of OF_ORIGIN) headers.delete(name);
    url = next;
  }
}

function responseOf(reply: Reply, headers: Headers, method: string, url: URL, redirected: boolean, signal: AbortSignal): Response {
  const href = url.href.replace(/#.*$/s, '');
  let content: Content | null = null;
  if (method === 'HEAD' || WITHOUT_BODY.includes(reply.status)) reply.close();
  else content = { source: decoded(() => abortable(reply.read(), signal, reply.close), headers.get('content-encoding') ?? '') };
  return received(reply.status, headers, { url: href, redirected, content });
}

/** Returns a promise that rejects when the signal is aborted. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal, onAbort?: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      onAbort?.();
      reject(signal.reason);
    };
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Answers `data:text/plain;base64,aGk=`. */
function dataOf(url: URL): Response {
  const [, type = '', base64, data = ''] = /^data:([^,]*?)(;\s*base64)?,(.*)$/s.exec(url.href.replace(/#.*$/s, '')) ?? [];
  const text = unescape(data);
  const bytes = Uint8Array.from(base64 ? atob(text) : text, (unit) => unit.charCodeAt(0));
  const headers = new Headers({ 'content-type': type || 'text/plain;charset=US-ASCII' });
  return received(200, headers, { url: url.href, redirected: false, content: { source: bytes } });
}

function failure(why: string): TypeError {
  return new TypeError(`fetch failed: ${why}`);
}

define({ fetch });

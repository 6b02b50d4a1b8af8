/** `Request` as the Fetch Standard has it. */
import { Body, contentOf, type Content } from './body';
import { Headers, type HeadersInit } from './headers';

export type Redirect = 'follow' | 'error' | 'manual';

export interface RequestInit {
  method?: string;
  headers?: HeadersInit;
  body?: unknown;
  redirect?: Redirect;
  signal?: AbortSignal | null;
  [option: string]: unknown;
}

/** Methods whose names are written in capitals. */
const STANDARD = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'];

const REDIRECTS = ['follow', 'error', 'manual'];

/** What a request says to a browser, which is kept and has no effect. */
const DEFAULTS = { mode: 'cors', credentials: 'same-origin', cache: 'default', referrer: 'about:client', referrerPolicy: '', integrity: '', keepalive: false, duplex: 'half' };

export class Request extends Body {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly redirect: Redirect;
  readonly signal: AbortSignal;

  constructor(input: string | URL | Request, init: RequestInit = {}) {
    const from = input instanceof Request ? input : undefined;
    const url = parseUrl(from ? from.url : String(input));
    const method = methodOf(init.method ?? from?.method ?? 'GET');
    const hasBody = init.body !== undefined && init.body !== null;
    if (hasBody && (method === 'GET' || method === 'HEAD')) throw new TypeError('Request with GET/HEAD method cannot have body.');
    if (init.redirect !== undefined && !REDIRECTS.includes(init.redirect)) throw new TypeError(`"${init.redirect}" is no value of redirect`);
    const content = hasBody ? contentOf(init.body) : from ? from.take() : null;
    super(content);
    this.url = url.href;
    this.method = method;
    this.headers = new Headers(init.headers ?? from?.headers);
    if (hasBody && content?.type && !this.headers.has('content-type')) this.headers.set('content-type', content.type);
    this.redirect = init.redirect ?? from?.redirect ?? 'follow';
    this.signal = (init.signal === null ? undefined : (init.signal ?? from?.signal)) ?? new AbortController().signal;
    for (const [name, value] of Object.entries(DEFAULTS)) {
      Object.defineProperty(this, name, { value: init[name] ?? (from as Record<string, unknown> | undefined)?.[name] ?? value });
    }
  }

  clone(): Request {
    const { url, method, headers, redirect, signal } = this;
    const content = this.tee();
    return new Request(url, { method, headers, redirect, signal, ...(content && { body: content.source }) });
  }

  /** Takes the body out, to send it. */
  content(): Content | null {
    return this.take();
  }

  get [Symbol.toStringTag](): string {
    return 'Request';
  }
}

export function parseUrl(text: string, base?: string): URL {
  let url: URL;
  try {
    url = new URL(text, base);
  } catch (error) {
    throw Object.assign(new TypeError(`Failed to parse URL from ${text}`, { cause: error }), {
      suggestion: 'the author must correct the tool: pass a whole URL, such as https://example.com/a',
    });
  }
  if (url.username || url.password) throw new TypeError(`Request cannot be constructed from a URL that includes credentials: ${url.origin}`);
  return url;
}

function methodOf(method: string): string {
  const text = String(method);
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text)) throw new TypeError(`'${text}' is not a valid HTTP method.`);
  const capitals = text.toUpperCase();
  if (['CONNECT', 'TRACE', 'TRACK'].includes(capitals)) throw new TypeError(`'${text}' HTTP method is unsupported.`);
  return STANDARD.includes(capitals) ? capitals : text;
}

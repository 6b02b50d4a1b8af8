/** `Response` as the Fetch Standard has it. */
import { Body, contentOf, type Content } from './body';
import { Headers, type HeadersInit } from './headers';

interface ResponseInit {
  status?: number;
  statusText?: string;
  headers?: HeadersInit;
}

/** Statuses of responses without a body. */
const WITHOUT_BODY = [101, 103, 204, 205, 304];

const REDIRECTS = [301, 302, 303, 307, 308];

/** What a response of the network has, beside what a program can say. */
interface Received {
  url: string;
  redirected: boolean;
  content: Content | null;
}

/** Passed instead of a body, for a response of the network. */
const RECEIVED = Symbol('received');

export class Response extends Body {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly url: string = '';
  readonly redirected: boolean = false;
  readonly type: string = 'default';

  constructor(body?: unknown, init: ResponseInit & { [RECEIVED]?: Received } = {}) {
    const received = init[RECEIVED];
    const hasBody = body !== undefined && body !== null;
    const content = received ? received.content : hasBody ? contentOf(body) : null;
    const status = init.status ?? 200;
    if (!received && !(status >= 200 && status <= 599)) throw new RangeError(`init["status"] must be in the range of 200 to 599, inclusive.`);
    if (hasBody && WITHOUT_BODY.includes(status)) throw new TypeError(`Response constructor: Invalid response status code ${status}`);
    super(content);
    this.status = status;
    this.statusText = init.statusText ?? '';
    this.headers = new Headers(init.headers);
    if (!received) {
      if (content?.type && !this.headers.has('content-type')) this.headers.set('content-type', content.type);
      return;
    }
    this.url = received.url;
    this.redirected = received.redirected;
    this.type = 'basic';
  }

  static error(): Response {
    return Object.defineProperties(new Response(), { status: { value: 0 }, type: { value: 'error' } });
  }

  static json(data: unknown, init: ResponseInit = {}): Response {
    const text = JSON.stringify(data);
    if (text === undefined) throw new TypeError('the data is not JSON');
    const headers = new Headers(init.headers);
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    return new Response(text, { ...init, headers });
  }

  static redirect(url: string | URL, status = 302): Response {
    if (!REDIRECTS.includes(status)) throw new RangeError(`${status} is no status of a redirect`);
    return new Response(null, { status, headers: { location: new URL(url).href } });
  }

  get ok(): boolean {
    return this.status >= 200 && this.status <= 299;
  }

  clone(): Response {
    const { status, statusText, headers, url, redirected, type } = this;
    const received = { url, redirected, content: this.tee() };
    return Object.defineProperty(new Response(null, { status, statusText, headers, [RECEIVED]: received }), 'type', { value: type });
  }

  get [Symbol.toStringTag](): string {
    return 'Response';
  }
}

/** Makes a response of the network. */
export function received(status: number, headers: Headers, rest: Received): Response {
  return new Response(null, { status, headers, [RECEIVED]: rest });
}

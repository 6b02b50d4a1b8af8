/** Globals of the sandbox, for the types of what a handler returns. */

declare class URL {
  constructor(url: string | URL, base?: string | URL);
  hash: string; host: string; hostname: string; href: string; password: string; pathname: string; port: string;
  protocol: string; search: string; username: string;
  readonly origin: string;
  readonly searchParams: URLSearchParams;
  static canParse(url: string | URL, base?: string | URL): boolean;
  toString(): string;
  toJSON(): string;
}
declare class URLSearchParams {
  constructor(init?: string | string[][] | Record<string, string> | URLSearchParams);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string): boolean;
  set(name: string, value: string): void;
  toString(): string;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
declare class TextEncoder { encode(text?: string): Uint8Array; }
declare class TextDecoder { constructor(label?: string, options?: object); decode(bytes?: ArrayBuffer | ArrayBufferView): string; }
declare class Headers {
  constructor(init?: object);
  get(name: string): string | null;
  has(name: string): boolean;
  set(name: string, value: string): void;
  append(name: string, value: string): void;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
declare class Response {
  constructor(body?: any, init?: object);
  readonly ok: boolean; readonly status: number; readonly statusText: string; readonly url: string;
  readonly redirected: boolean; readonly headers: Headers;
  text(): Promise<string>;
  json(): Promise<any>;
  arrayBuffer(): Promise<ArrayBuffer>;
}
declare class Request { constructor(input: string | URL | Request, init?: object); readonly url: string; readonly method: string; readonly headers: Headers; }
declare function fetch(input: string | URL | Request, init?: any): Promise<Response>;
declare class Buffer extends Uint8Array {
  static from(data: any, encoding?: any): Buffer;
  static alloc(size: number): Buffer;
  static concat(list: readonly Uint8Array[]): Buffer;
  static byteLength(text: string, encoding?: string): number;
  toString(encoding?: string, start?: number, end?: number): string;
}
interface Console { debug(...data: any[]): void; error(...data: any[]): void; info(...data: any[]): void; log(...data: any[]): void; trace(...data: any[]): void; warn(...data: any[]): void; }
declare var console: Console;
declare var process: { env: Record<string, string | undefined>; [name: string]: any };
declare var performance: { now(): number };
declare var crypto: { randomUUID(): string; getRandomValues<T>(array: T): T; subtle: any };
declare function setTimeout(run: (...args: any[]) => void, ms?: number, ...args: any[]): any;
declare function setInterval(run: (...args: any[]) => void, ms?: number, ...args: any[]): any;
declare function setImmediate(run: (...args: any[]) => void, ...args: any[]): any;
declare function clearTimeout(timer: any): void;
declare function clearInterval(timer: any): void;
declare function clearImmediate(timer: any): void;
declare function queueMicrotask(task: () => void): void;
declare function structuredClone<T>(value: T): T;
declare function atob(text: string): string;
declare function btoa(text: string): string;

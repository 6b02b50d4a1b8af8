/** Packages without types, and names that types of Node would give. */

declare module 'object-inspect' {
  export default function inspect(value: unknown, options?: object): string;
}

declare module 'events' {
  const events: object;
  export default events;
}

declare module 'path-browserify' {
  const path: object;
  export default path;
}

declare module 'core-js/actual/*';

declare function setImmediate(task: (...args: any[]) => void, ...args: unknown[]): unknown;
declare function clearImmediate(timer: unknown): void;

declare module 'readable-stream' {
  const stream: any;
  export default stream;
}

declare module 'string_decoder' {
  const decoder: object;
  export default decoder;
}

declare module 'native-url' {
  export function parse(text: string, parseQuery?: boolean, slashes?: boolean): object;
  export function format(value: string | object): string;
  export function resolve(from: string, to: string): string;
  export const Url: unknown;
}

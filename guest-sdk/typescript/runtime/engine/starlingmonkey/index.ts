/** StarlingMonkey: an engine with timers, promises, text and `fetch` of its own. */

export function run<T>(start: () => T | PromiseLike<T>): Promise<T> {
  return Promise.resolve().then(start);
}

/** Nothing waits between build and call: the engine runs its own queue. */
export function discard(): void {}

/** Makes the value of a 64-bit parameter. */
export function u64(value: number): bigint {
  return BigInt(value);
}

export function sleepSync(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

export function encodeUtf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function decodeUtf8(bytes: Uint8Array, fatal = false): string {
  return new TextDecoder('utf-8', { fatal, ignoreBOM: true }).decode(bytes);
}

/** Everything is there but Node's own timer. */
export function installGlobals(): void {
  Object.assign(globalThis, {
    setImmediate: (task: (...args: any[]) => void, ...args: unknown[]) => setTimeout(task, 0, ...args),
    clearImmediate: clearTimeout,
  });
}

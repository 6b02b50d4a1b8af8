/** StarlingMonkey: an engine with promises, text and `fetch` of its own, and an event loop that runs them. */
import { armed, disarm, onUncaught } from './timers';
import { clearTimer, setImmediate, setInterval, setTimeout } from '../timers';

export { sleepSync } from '../timers';

/** Runs an async function to its end; an exception in a timer ends it. Pending work is dropped. */
export function run<T>(start: () => T | PromiseLike<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    onUncaught(reject);
    Promise.resolve().then(start).then(resolve, reject);
  }).finally(disarm);
}

/** Does nothing: no work is pending between build and call. */
export function discard(): void {}

/** Does nothing: a call takes turns of the event loop, which does not run while the tool is built. */
export function prepare(): void {}

/** Does nothing: the engine's heap grows in its own steps. */
export function leaveRoom(): void {}

/** Does nothing: the engine's async functions cannot be followed. */
export function carryContext(): void {}

/** Makes the value of a 64-bit parameter. */
export function u64(value: number): bigint {
  return BigInt(value);
}

export function encodeUtf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function decodeUtf8(bytes: Uint8Array, fatal = false): string {
  return new TextDecoder('utf-8', { fatal, ignoreBOM: true }).decode(bytes);
}

export function installGlobals(): void {
  Object.assign(globalThis, {
    setTimeout: armed(setTimeout),
    setInterval: armed(setInterval),
    setImmediate: armed(setImmediate),
    clearTimeout: clearTimer,
    clearInterval: clearTimer,
    clearImmediate: clearTimer,
  });
}

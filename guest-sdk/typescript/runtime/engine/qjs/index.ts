/** QuickJS: what the runtime needs of an engine that has neither timers nor a running event loop. */
import { clearQueue, enqueue } from './queue';
import { QueuedPromise, carryReactions } from './promise';
import { clearTimer, clearTimers, setImmediate, setInterval, setTimeout } from '../timers';
import { TextDecoder, TextEncoder } from './text';

export { leaveRoom } from './room';
export { settle as run } from './settle';
export { runAsyncFunction } from './promise';
export { sleepSync } from '../timers';
export { decodeUtf8, encodeUtf8 } from './text';

/** Drops pending work of code that ran while the tool was built. */
export function discard(): void {
  clearQueue();
  clearTimers();
}

/** Calls what each call does, so that the functions and shapes that QuickJS makes at their first use exist. */
export function prepare(call: () => void): void {
  call();
}

type Bind = <A extends unknown[], R>(act: (...args: A) => R) => (...args: A) => R;

/** Has `bind` bind what runs later: reactions of promises, microtasks and timers. */
export function carryContext(bind: Bind): void {
  carryReactions(bind);
  const globals = globalThis as unknown as Record<string, (act: (...args: unknown[]) => unknown, ...rest: unknown[]) => unknown>;
  for (const name of ['queueMicrotask', 'setTimeout', 'setInterval', 'setImmediate']) {
    const set = globals[name]!;
    globals[name] = (act, ...rest) => set(bind(act), ...rest);
  }
}

/** Makes the value of a 64-bit parameter. */
export function u64(value: number): number {
  return value;
}

export function installGlobals(): void {
  Object.assign(globalThis, {
    Promise: QueuedPromise,
    queueMicrotask,
    setTimeout,
    setInterval,
    setImmediate,
    clearTimeout: clearTimer,
    clearInterval: clearTimer,
    clearImmediate: clearTimer,
    TextDecoder,
    TextEncoder,
  });
  Array.fromAsync = fromAsync as typeof Array.fromAsync;
}

function queueMicrotask(task: () => void): void {
  if (typeof task !== 'function') {
    throw new TypeError('The "callback" argument must be of type function');
  }
  enqueue(task);
}

/** The engine's version returns one of the engine's promises, which would never settle. */
async function fromAsync(items: any, map?: (item: any, index: number) => unknown): Promise<unknown[]> {
  const out: unknown[] = [];
  const iterable = items[Symbol.asyncIterator] || items[Symbol.iterator] ? items : Array.from(items);
  for await (const item of iterable) out.push(map ? await map(item, out.length) : item);
  return out;
}

/** Waits, as Node does, until nothing is left to do. */
import type { Floating } from './loader';

type Timer = (callback: (...args: unknown[]) => void, ...rest: unknown[]) => unknown;

const running = new Set<unknown>();

let fail: (error: unknown) => void;

/** Runs a program. Rejects with the first error that nothing catches: that of a timer, or of a promise without a handler. */
export function guarded<T>(start: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    fail = reject;
    start().then(resolve, reject);
  });
}

/** Replaces the functions that start and end timers by ones that note it, and takes the errors that nothing catches. */
export function trackTimers(): void {
  const take = (event: { reason: unknown; preventDefault(): void }) => {
    event.preventDefault();
    fail(event.reason);
  };
  Object.assign(globalThis, { onunhandledrejection: take });
  const all = globalThis as unknown as Record<string, (...args: any[]) => unknown>;
  for (const [start, end, repeats] of [
    ['setTimeout', 'clearTimeout', false],
    ['setInterval', 'clearInterval', true],
    ['setImmediate', 'clearImmediate', false],
  ] as const) {
    const [begin, clear] = [all[start] as Timer, all[end]!];
    all[start] = (callback: (...args: unknown[]) => void, ...rest: unknown[]) => {
      const timer = begin((...args) => {
        if (!repeats) running.delete(timer);
        try {
          callback(...args);
        } catch (error) {
          fail(error);
        }
      }, ...rest);
      running.add(timer);
      return timer;
    };
    all[end] = (timer: unknown) => {
      running.delete(timer);
      return clear(timer);
    };
  }
  pause = (begin => () => new Promise<void>((resolve) => void begin(() => resolve(), 1)))(setTimeout);
}

let pause: () => Promise<void>;

/** Waits for promises and timers, also for those that they start. */
export async function settled(floating: Floating[]): Promise<void> {
  for (;;) {
    while (floating.length > 0) await floating.shift()!.promise;
    if (running.size === 0) return;
    await pause();
  }
}

/** Waits, as Node does, until nothing is left to do. */
import type { Floating } from './loader';

type Timer = (callback: (...args: unknown[]) => void, ...rest: unknown[]) => unknown;

/** The timers, and what each calls. */
const running = new Map<unknown, unknown>();

let fail: (error: unknown) => void;

/** Ends the program with an error. */
export function failWith(error: unknown): void {
  fail(error);
}

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
      running.set(timer, callback);
      return timer;
    };
    all[end] = (timer: unknown) => {
      running.delete(timer);
      return clear(timer);
    };
  }
  pause = (begin => (ms) => new Promise<void>((resolve) => void begin(() => resolve(), ms)))(setTimeout);
}

/** Waits beside the timers of the program. */
let pause: (ms: number) => Promise<void>;

/** Lets all promises that are settled have what waits for them run. */
export function turn(): Promise<void> {
  return new Promise((resolve) => void immediate(() => resolve()));
}

const immediate = (globalThis as unknown as { setImmediate: Timer }).setImmediate;

/** Returns what timers call that waits or calls tools. One that settles a promise is none. */
export function timersWithCalls(): string[] {
  return [...running.values()].map(String).filter((text) => /\$async\(|\btools\b/.test(text));
}

/** Waits for promises and timers, also for those that they start. */
export async function settled(floating: Floating[]): Promise<void> {
  for (;;) {
    while (floating.length > 0) await floating.shift()!.promise;
    if (running.size === 0) return;
    await pause(1);
  }
}

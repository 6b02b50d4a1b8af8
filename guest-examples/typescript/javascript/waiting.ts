/** Waits, as Node does, until nothing is left to do. */

type Timer = (callback: (...args: unknown[]) => void, ...rest: unknown[]) => unknown;

const running = new Set<unknown>();
let failure: { error: unknown } | undefined;

/** Replaces the functions that start and end timers by ones that note it. */
export function trackTimers(): void {
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
          failure ??= { error };
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

/** Waits for promises and timers, also for those that they start. Throws the error of one. */
export async function settled(floating: Promise<unknown>[]): Promise<void> {
  for (;;) {
    while (floating.length > 0) await floating.shift();
    if (failure) throw failure.error;
    if (running.size === 0) return;
    await pause();
  }
}

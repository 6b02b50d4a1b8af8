/** Runs an async function to its end within one synchronous call. */
import { clearQueue, drain, takeRejection } from './queue';
import { QueuedPromise } from './promise';
import { clearTimers, runNextTimer } from '../timers';

/** How to wait for the next event, and how to drop what is waited for: timers only, unless the tool uses the network. */
let waiting = { waitForNext: runNextTimer, clearWaits: () => {} };

export function waitBy(other: typeof waiting): void {
  waiting = other;
}

let stuck: (() => void) | undefined;

/** Has a function called, once, when what runs waits for something that never comes. It lets it end. */
export function onceStuck(act: () => void): void {
  stuck = act;
}

/** Returns the result of `start`, or throws its error. Work that is still pending is dropped. */
export function settle<T>(start: () => T | PromiseLike<T>): T {
  let outcome: { value: T } | { reason: unknown } | undefined;
  try {
    try {
      const started = start();
      if ((typeof started === 'object' && started !== null) || typeof started === 'function') {
        QueuedPromise.resolve(started).then(
          (value: T) => (outcome = { value }),
          (reason: unknown) => (outcome = { reason }),
        );
      } else {
        outcome = { value: started };
      }
    } catch (reason) {
      outcome = { reason };
    }
    for (;;) {
      drain();
      const unhandled = takeRejection();
      if (unhandled) {
        if (!isTaken(unhandled)) throw unhandled.reason;
        continue;
      }
      if (outcome) break;
      if (waiting.waitForNext()) continue;
      if (!stuck) throw neverSettles();
      const act = stuck;
      stuck = undefined;
      act();
    }
  } finally {
    clearQueue();
    clearTimers();
    waiting.clearWaits();
  }
  if ('reason' in outcome) throw outcome.reason;
  return outcome.value;
}

/** Gives the error to `onunhandledrejection`, as on the web. Returns whether the program prevents that it ends the call. */
function isTaken(rejection: { promise: object; reason: unknown }): boolean {
  const { onunhandledrejection: take } = globalThis as { onunhandledrejection?: unknown };
  if (typeof take !== 'function') return false;
  let taken = false;
  take({ type: 'unhandledrejection', ...rejection, preventDefault: () => (taken = true) });
  return taken;
}

function neverSettles(): Error {
  const error = new Error(
    'the handler waits for a promise that nothing can settle any more: no timer and no task is left',
  );
  return Object.assign(error, {
    name: 'NeverSettledError',
    code: 'NEVER_SETTLED',
    suggestion: 'the author must correct the tool: its handler must call `resolve` on every path',
  });
}

/**
 * The runtime's timers over one of the engine's: those of the engine run in the order in which they were
 * set when several are due, and keep a call going that has its result.
 */
import { refuseAtBuild } from '../../snapshot';
import { clearTimers, nextTimerInMs, runNextTimer } from '../timers';

const { setTimeout, clearTimeout } = globalThis;

let alarm: unknown;
let uncaught: (error: unknown) => void = () => {};

/** Sets the function that gets the errors that timers throw. */
export function onUncaught(tell: (error: unknown) => void): void {
  uncaught = tell;
}

/** Makes a function that sets a timer of the runtime, and sees that it is run. */
export function armed<A extends unknown[], T>(set: (...args: A) => T): (...args: A) => T {
  return (...args) => {
    refuseAtBuild('a timer is set');
    const timer = set(...args);
    arm();
    return timer;
  };
}

function arm(): void {
  const wait = nextTimerInMs();
  clearTimeout(alarm as number);
  alarm = wait === undefined ? undefined : setTimeout(ring, wait);
}

function ring(): void {
  try {
    if (nextTimerInMs() === 0) runNextTimer();
  } catch (error) {
    uncaught(error);
  }
  arm();
}

/** Drops all timers. */
export function disarm(): void {
  clearTimers();
  arm();
}

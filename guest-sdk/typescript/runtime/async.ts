/** The module `toolhost/async`, for tools that run programs. */
import { isRunning } from './engine/qjs/promise';
import { running, type RunningCall } from './running-calls';

/** Runs what an async function is compiled to: a generator that yields what it waits for. */
export { runAsyncFunction } from 'toolhost:engine';

export { isRunning, isUnawaited, placeAwait, placesOfAwaits } from './engine/qjs/promise';
export { onceStuck } from './engine/qjs/settle';
export { placeNextCall } from './running-calls';

/** Returns the calls of other tools that run, but for those that have lost a race. */
export function runningCalls(): RunningCall[] {
  return [...running].filter(({ promise }) => isRunning(promise));
}

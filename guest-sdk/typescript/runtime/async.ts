/** The module `toolhost/async`, for tools that run programs. */
import { running, type RunningCall } from './running-calls';

/** Runs what an async function is compiled to: a generator that yields what it waits for. */
export { runAsyncFunction } from 'toolhost:engine';

export { placeNextCall } from './running-calls';

/** Returns the calls of other tools that run. */
export function runningCalls(): RunningCall[] {
  return [...running];
}

/** The calls of other tools that run. */

export interface RunningCall {
  /** The name of the tool. */
  readonly name: string;
  /** The engine's stack where it was called. */
  readonly stack: string | undefined;
}

export const running = new Set<RunningCall>();

/** The one that calls, and some around it. Each takes time. */
const FRAMES = 3;

const errors = Error as unknown as { stackTraceLimit: number };
const { captureStackTrace } = Error as unknown as { captureStackTrace(of: object, above: unknown): void };

/** Returns an object with the stack above a function that was called. */
export function placeOfCall(called: unknown): { stack?: string } {
  const { stackTraceLimit } = errors;
  errors.stackTraceLimit = FRAMES;
  const place = {};
  captureStackTrace(place, called);
  errors.stackTraceLimit = stackTraceLimit;
  return place;
}

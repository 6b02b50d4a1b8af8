/** The calls of other tools that run. */

export interface RunningCall {
  /** The name of the tool. */
  readonly name: string;
  /** The engine's stack where it was called. */
  readonly stack: string | undefined;
}

export const running = new Set<RunningCall>();

/** The functions of this runtime, and the one that calls. Each frame takes time. */
const FRAMES = 4;

const errors = Error as unknown as { stackTraceLimit: number };
const { captureStackTrace } = Error as unknown as { captureStackTrace(of: object): void };

/** Returns an object with the stack of the call of a tool. */
export function placeOfCall(): { stack?: string } {
  const { stackTraceLimit } = errors;
  errors.stackTraceLimit = FRAMES;
  const place = {};
  captureStackTrace(place);
  errors.stackTraceLimit = stackTraceLimit;
  return place;
}

/** The calls of other tools that run. */

export interface RunningCall {
  /** The name of the tool. */
  readonly name: string;
  /** The engine's stack where it was called. */
  readonly stack: string | undefined;
  readonly promise: unknown;
}

export const running = new Set<RunningCall>();

/** The one that calls. Each takes time. */
const FRAMES = 1;

/** Where a function of the engine calls, such as `map`: it and some around it. */
const FRAMES_OF_NATIVE = 4;

const errors = Error as unknown as { stackTraceLimit: number };
const { captureStackTrace } = Error as unknown as { captureStackTrace(of: object, above: unknown): void };

let known: string | undefined;

/** Says the stack of the call that is made next, and returns its last argument. */
export function placeNextCall<T>(stack: string, argument: T): T {
  known = stack;
  return argument;
}

/** Returns the stack above a function that was called. */
export function placeOfCall(called: unknown): string {
  if (known !== undefined) {
    const stack = known;
    known = undefined;
    return stack;
  }
  const stack = framesAbove(called, FRAMES);
  return stack.endsWith('native)\n') ? framesAbove(called, FRAMES_OF_NATIVE) : stack;
}

function framesAbove(called: unknown, count: number): string {
  const { stackTraceLimit } = errors;
  const place: { stack: unknown } = { stack: '' };
  errors.stackTraceLimit = count;
  captureStackTrace(place, called);
  errors.stackTraceLimit = stackTraceLimit;
  // A program may have replaced what makes a text of it.
  return typeof place.stack === 'string' ? place.stack : '';
}

/**
 * Top-level code runs once while the tool is built, and its memory afterwards is part of the
 * component. That is fast, but wrong for a module that reads the clock, random numbers or
 * the environment: such a module is evaluated again in each call.
 */

let building = true;
let used: string | undefined;

/**
 * Records the use of something that differs from call to call. Returns whether the tool is
 * being built, when there is no host to ask.
 */
export function noteUse(what: string): boolean {
  if (building) used ??= what;
  return building;
}

/** Throws if the tool is being built. */
export function refuseAtBuild(what: string): void {
  if (!building) return;
  throw new Error(`${what} at the top level of a module, which runs while the tool is built: move it into the handler`);
}

/** Evaluates a module while the tool is built. `fresh` tells whether each call must evaluate it again. */
export function evaluateAtBuild<T>(evaluate: () => T): { value: T; fresh: boolean } {
  const SystemDate = Date;
  // Ignore what the packages of this runtime used before the module ran.
  used = undefined;
  globalThis.Date = watchedDate(SystemDate);
  try {
    return { value: evaluate(), fresh: used !== undefined };
  } finally {
    globalThis.Date = SystemDate;
    building = false;
  }
}

/** Returns a Date that records a request for the time, and returns 1970. */
function watchedDate(SystemDate: DateConstructor): DateConstructor {
  const now = () => {
    noteUse('the time');
    return 0;
  };
  return new Proxy(SystemDate, {
    apply: () => new SystemDate(now()).toString(),
    construct: (target, args, newTarget) => Reflect.construct(target, args.length > 0 ? args : [now()], newTarget),
    get: (target, key, receiver) => (key === 'now' ? now : Reflect.get(target, key, receiver)),
  });
}

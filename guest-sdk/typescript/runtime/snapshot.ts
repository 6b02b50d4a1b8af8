/**
 * Top-level code runs once while the tool is built, and what it leaves in memory is part of the
 * component. That is fast, and wrong for a module that looks at the clock, at random numbers or at
 * the environment on the way: such a module is evaluated anew for each call.
 */

let building = true;
let used: string | undefined;

/**
 * Notes that something was used whose answer differs from call to call. Returns whether the tool is
 * being built: there is no host then to give an answer.
 */
export function noteUse(what: string): boolean {
  if (building) used ??= what;
  return building;
}

/** Refuses what cannot be done while the tool is built. */
export function refuseAtBuild(what: string): void {
  if (!building) return;
  throw new Error(`${what} at the top level of a module, which runs while the tool is built: move it into the handler`);
}

/** Evaluates a module while the tool is built. `fresh` says whether each call must do so again. */
export function evaluateAtBuild<T>(evaluate: () => T): { value: T; fresh: boolean } {
  const SystemDate = Date;
  // What packages of this runtime used on their way here is no concern of the module.
  used = undefined;
  globalThis.Date = watchedDate(SystemDate);
  try {
    return { value: evaluate(), fresh: used !== undefined };
  } finally {
    globalThis.Date = SystemDate;
    building = false;
  }
}

/** Returns a Date that notes when it is asked for the time, and answers with 1970. */
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

/**
 * Top-level code runs once while the tool is built, and what it leaves in memory is part of the
 * component. That is fast, and wrong for a module that looks at the clock, at random numbers or at
 * the environment on the way: such a module is evaluated anew for each call.
 */

let building = false;
let used: string | undefined;

/** Notes that something was used whose answer differs from call to call. */
export function noteUse(what: string): void {
  if (building) used ??= what;
}

/** Refuses what cannot be done while the tool is built. */
export function refuseAtBuild(what: string): void {
  if (!building) return;
  throw new Error(`${what} at the top level of a module, which runs while the tool is built: move it into the handler`);
}

/** Evaluates a module while the tool is built. `fresh` says whether each call must do so again. */
export function evaluateAtBuild<T>(evaluate: () => T): { value: T; fresh: boolean } {
  const SystemDate = Date;
  building = true;
  globalThis.Date = watchedDate(SystemDate);
  try {
    return { value: evaluate(), fresh: used !== undefined };
  } finally {
    globalThis.Date = SystemDate;
    building = false;
  }
}

/** Returns a Date that notes when it is asked for the time. */
function watchedDate(SystemDate: DateConstructor): DateConstructor {
  return new Proxy(SystemDate, {
    apply(target, self, args) {
      noteUse('the time');
      return Reflect.apply(target, self, args);
    },
    construct(target, args, newTarget) {
      if (args.length === 0) noteUse('the time');
      return Reflect.construct(target, args, newTarget);
    },
    get(target, key, receiver) {
      if (key === 'now') noteUse('the time');
      return Reflect.get(target, key, receiver);
    },
  });
}

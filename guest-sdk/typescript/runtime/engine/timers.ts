/** Timers over `wasi:clocks`: they wait only while the handler waits for them. */
import { now, subscribeDuration } from 'wasi:clocks/monotonic-clock';
import { u64 } from 'toolhost:engine';
import { noteUse } from '../snapshot';

type Callback = (...args: any[]) => void;

/** What `setTimeout` and `setInterval` return; as a number, its id. */
export class Timeout {
  static #lastId = 0;
  readonly id = ++Timeout.#lastId;
  due: bigint;

  constructor(
    readonly run: () => void,
    readonly delayMs: number,
    readonly repeat: boolean,
  ) {
    this.due = dueIn(delayMs);
  }

  refresh(): this {
    if (timers.has(this.id)) this.due = dueIn(this.delayMs);
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.toPrimitive](): number {
    return this.id;
  }
}

const timers = new Map<number, Timeout>();

/** `setTimeout`'s limit: a longer delay counts as 1 ms, as in Node and Bun. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** While the tool is built there is no clock. */
function dueIn(delayMs: number): bigint {
  if (noteUse('a timer')) return 0n;
  return BigInt(now()) + BigInt(Math.round(delayMs * 1e6));
}

function start(callback: Callback, delay: unknown, args: unknown[], repeat: boolean): Timeout {
  if (typeof callback !== 'function') {
    throw new TypeError('The "callback" argument must be of type function');
  }
  let delayMs = Number(delay ?? 0);
  if (!(delayMs >= 1 && delayMs <= MAX_DELAY_MS)) delayMs = 1;
  const timer = new Timeout(() => callback(...args), delayMs, repeat);
  timers.set(timer.id, timer);
  return timer;
}

export function setTimeout(callback: Callback, delay?: number, ...args: unknown[]): Timeout {
  return start(callback, delay, args, false);
}

export function setInterval(callback: Callback, delay?: number, ...args: unknown[]): Timeout {
  return start(callback, delay, args, true);
}

export function setImmediate(callback: Callback, ...args: unknown[]): Timeout {
  const timer = start(callback, 0, args, false);
  timer.due = 0n;
  return timer;
}

/** Ends a timer of any kind, given as what `set…` returned or as its id. */
export function clearTimer(timer: unknown): void {
  if (timer !== undefined && timer !== null) timers.delete(Number(timer));
}

/** Returns the timer that is due first. */
function nextTimer(): Timeout | undefined {
  if (timers.size === 0) return undefined;
  let next: Timeout | undefined;
  for (const timer of timers.values()) {
    if (next === undefined || timer.due < next.due) next = timer;
  }
  return next;
}

/** Returns how long it is to the next timer, in milliseconds. */
export function nextTimerInMs(): number | undefined {
  const next = nextTimer();
  return next && Math.max(0, Math.ceil(Number(next.due - BigInt(now())) / 1e6));
}

/** Waits for the timer that is due first and runs it. Returns false where there is none. */
export function runNextTimer(): boolean {
  const next = nextTimer();
  if (next === undefined) return false;
  waitUntil(next.due);
  if (next.repeat) next.due = dueIn(next.delayMs);
  else timers.delete(next.id);
  next.run();
  return true;
}

export function clearTimers(): void {
  timers.clear();
}

/** Sleeps without running anything else. */
export function sleepSync(ms: number): void {
  waitUntil(dueIn(ms));
}

function waitUntil(due: bigint): void {
  const wait = due - BigInt(now());
  if (wait <= 0n) return;
  const pollable = subscribeDuration(u64(Number(wait)));
  pollable.block();
  pollable[Symbol.dispose]?.();
}

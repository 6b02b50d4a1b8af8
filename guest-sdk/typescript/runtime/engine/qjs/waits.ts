/** Waits for the host's pollables beside timers. */
import { subscribeDuration } from 'wasi:clocks/monotonic-clock';
import { poll, type Pollable } from 'wasi:io/poll';
import { u64 } from 'toolhost:engine';
import { nextTimerInMs, runNextTimer } from '../timers';
import { waitBy } from './settle';

/** What waits for a pollable: an object with a method, which costs less than a closure. */
export interface Waiter {
  ready(): void;
}

/** The pollables, and what waits for each of them. */
const pollables: Pollable[] = [];
const waiters: Waiter[] = [];

/** Calls `ready` once the pollable is ready, and drops the pollable before. */
export function whenReady(pollable: Pollable, waiter: Waiter): void {
  pollables.push(pollable);
  waiters.push(waiter);
}

/** Ends the wait, and drops the pollable. */
export function stopWaiting(waiter: Waiter): void {
  const at = waiters.indexOf(waiter);
  if (at < 0) return;
  waiters.splice(at, 1);
  drop(pollables.splice(at, 1)[0]);
}

/** Waits for the first of the pollables and timers. Returns false where there is none. */
function waitForNext(): boolean {
  const count = pollables.length;
  if (count === 0) return runNextTimer();
  const wait = nextTimerInMs();
  if (count === 1 && wait === undefined) {
    const only = pollables.pop()!;
    const waiter = waiters.pop()!;
    only.block();
    drop(only);
    waiter.ready();
    return true;
  }
  const timer = wait === undefined ? undefined : subscribeDuration(u64(wait * 1e6));
  const ready = [...poll(timer ? [...pollables, timer] : pollables)];
  drop(timer);
  const due = take(ready, count);
  for (let next = 0; next < due.length; next += 1) due[next]!.ready();
  if (due.length < ready.length) runNextTimer();
  return true;
}

/** Takes those out whose pollables are ready. An index that is `count` is the timer's. */
function take(ready: number[], count: number): Waiter[] {
  const due: Waiter[] = [];
  for (let next = 0; next < ready.length; next += 1) {
    const at = ready[next]!;
    if (at === count) continue;
    due.push(waiters[at]!);
    drop(pollables[at]);
    pollables[at] = undefined!;
  }
  let kept = 0;
  for (let at = 0; at < count; at += 1) {
    if (pollables[at] === undefined) continue;
    pollables[kept] = pollables[at]!;
    waiters[kept] = waiters[at]!;
    kept += 1;
  }
  pollables.length = waiters.length = kept;
  return due;
}

function drop(pollable: Pollable | undefined): void {
  pollable?.[Symbol.dispose]?.();
}

function clearWaits(): void {
  for (const pollable of pollables) drop(pollable);
  pollables.length = waiters.length = 0;
}

waitBy({ waitForNext, clearWaits });

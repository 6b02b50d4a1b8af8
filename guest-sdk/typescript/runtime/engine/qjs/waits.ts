/** Waits for the host's pollables beside timers. */
import { subscribeDuration } from 'wasi:clocks/monotonic-clock';
import { poll, type Pollable } from 'wasi:io/poll';
import { u64 } from 'toolhost:engine';
import { nextTimerInMs, runNextTimer } from '../timers';
import { waitBy } from './settle';

const waits = new Map<Pollable, () => void>();

/** Calls `act` once the pollable is ready, and drops the pollable. Returns what ends the wait. */
export function whenReady(pollable: Pollable, act: () => void): () => void {
  waits.set(pollable, act);
  return () => {
    if (waits.delete(pollable)) pollable[Symbol.dispose]?.();
  };
}

/** Waits for the first of the pollables and timers. Returns false where there is none. */
function waitForNext(): boolean {
  if (waits.size === 0) return runNextTimer();
  const wait = nextTimerInMs();
  if (waits.size === 1 && wait === undefined) {
    const only = waits.keys().next().value!;
    only.block();
    act(only);
    return true;
  }
  const pollables = [...waits.keys()];
  const timer = wait === undefined ? undefined : subscribeDuration(u64(wait * 1e6));
  const ready = poll(timer ? [...pollables, timer] : pollables);
  timer?.[Symbol.dispose]?.();
  for (const index of ready) {
    const pollable = pollables[index];
    if (pollable === undefined) {
      runNextTimer();
      continue;
    }
    act(pollable);
  }
  return true;
}

function act(pollable: Pollable): void {
  const then = waits.get(pollable);
  waits.delete(pollable);
  pollable[Symbol.dispose]?.();
  then?.();
}

function clearWaits(): void {
  for (const pollable of waits.keys()) pollable[Symbol.dispose]?.();
  waits.clear();
}

waitBy({ waitForNext, clearWaits });

/** `performance`, whose origin is the first use in this call. */
import { now } from 'wasi:clocks/monotonic-clock';
import { noteUse } from '../snapshot';

let origin: bigint | undefined;

/** Nanoseconds since a moment before. */
export function monotonic(): bigint {
  return noteUse('the time') ? 0n : BigInt(now());
}

export const performance = {
  now(): number {
    const at = monotonic();
    origin ??= at;
    return Number(at - origin) / 1e6;
  },
  get timeOrigin(): number {
    return Date.now() - this.now();
  },
  mark(): void {},
  measure(): void {},
};

/** Forgets the origin that code at the top level has set while the tool was built. */
export function discardClock(): void {
  origin = undefined;
}

// Times, durations and amounts as people read them.

import { h } from './dom.js';

const number = new Intl.NumberFormat('en');
const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3, hourCycle: 'h23' };
const time = new Intl.DateTimeFormat('en', clock);
const date = new Intl.DateTimeFormat('en-CA', { year: 'numeric', month: '2-digit', day: '2-digit' });

/** Returns `1,234`. */
export const count = (value) => (typeof value === 'number' ? number.format(value) : String(value?.rawJSON ?? value));

/** Returns `3 calls`. */
export const counted = (value, noun) => `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

/** Makes a `<time>`: with the date unless it is today. */
export function when(text) {
  if (text === undefined || text === null) return null;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return h('span', null, text);
  const day = date.format(at);
  const shown = day === date.format(new Date()) ? time.format(at) : `${day} ${time.format(at)}`;
  return h('time', { datetime: at.toISOString(), title: at.toISOString() }, shown);
}

/** Returns a duration in milliseconds as `3 ms`, `1.50 s`, `2 min 5 s` or `3 h 5 min`. */
export function duration(ms) {
  if (typeof ms !== 'number') return '';
  if (ms < 10) return `${Number(ms.toPrecision(2))} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(2)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Returns bytes as `12 KiB`. */
export function bytes(amount) {
  if (typeof amount !== 'number') return '';
  let size = amount;
  let unit = 0;
  while (size >= 1_024 && unit < SIZES.length - 1) {
    size /= 1_024;
    unit += 1;
  }
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${SIZES[unit]}`;
}

// How much the server's clock is ahead of the browser's, in ms.
let ahead = 0;

/** Sets the time of the server. */
export function setNow(text) {
  ahead = new Date(text).getTime() - Date.now() || 0;
}

/** Returns milliseconds from now, by the server's clock, to a time. */
export const msTo = (text) => new Date(text).getTime() - Date.now() - ahead;

/** Returns how long it is from now to a time, such as `in 3 h 5 min` or `2 min 1 s ago`. */
export function until(text) {
  const ms = msTo(text);
  if (Number.isNaN(ms)) return '';
  const span = Math.abs(ms) < 60_000 ? `${Math.round(Math.abs(ms) / 1_000)} s` : duration(Math.abs(ms));
  return ms >= 0 ? `in ${span}` : `${span} ago`;
}

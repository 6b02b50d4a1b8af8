/** Reads JSON of the host: the arguments of a call, the answer of an agent. */

import { fromJson, hasBigInt, type WholePlan } from './convert';

/** Parses `what` of `whom`. Throws where a number of JavaScript cannot hold an integer. */
export function toValue(json: string, what: string, whom = ''): unknown {
  const value: unknown = JSON.parse(json);
  if (hasLargeInteger(value)) refuseInexact(json, value, what + whom);
  return value;
}

/** Parses arguments and converts them to what the types of the handler say. */
export function toArguments(json: string, plan: WholePlan): unknown {
  if (!hasBigInt(plan) || !/\d{16}/.test(json)) return fromJson(toValue(json, 'input'), plan, BigInt);
  // The parser would round them.
  const marked: unknown = JSON.parse(json.replace(TOKEN, (token) => (/^-?\d{16,}$/.test(token) ? `"\\u0000n${token}"` : token)));
  const value = fromJson(marked, plan, (digits: number | string) => BigInt(typeof digits === 'string' ? digits.slice(2) : digits));
  return withNumbers(value, 'input');
}

/** Puts numbers where a big integer was not asked for. */
function withNumbers(value: unknown, at: string): unknown {
  if (typeof value === 'string' && /^\0n-?\d+$/.test(value)) {
    const digits = value.slice(2);
    if (String(Number(digits)) !== digits) throw inexact(at, digits);
    return Number(digits);
  }
  if (typeof value !== 'object' || value === null) return value;
  for (const [key, item] of Object.entries(value)) {
    const made = withNumbers(item, Array.isArray(value) ? `${at}[${key}]` : `${at}.${key}`);
    if (made !== item) (value as Record<string, unknown>)[key] = made;
  }
  return value;
}

const MAX_SAFE = Number.MAX_SAFE_INTEGER;

function hasLargeInteger(value: unknown): boolean {
  if (typeof value === 'number') return value > MAX_SAFE || value < -MAX_SAFE;
  if (typeof value !== 'object' || value === null) return false;
  // Every answer of a tool passes here, and few have numbers.
  const items: unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (let at = 0; at < items.length; at += 1) {
    const item = items[at];
    if (typeof item !== 'string' && hasLargeInteger(item)) return true;
  }
  return false;
}

/** Strings and numbers of a JSON text. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function refuseInexact(json: string, value: unknown, what: string): void {
  // What the engine would write for the number that it reads.
  const token = json.match(TOKEN)?.find((each) => /^-?\d{16,}$/.test(each) && String(Number(each)) !== each);
  if (token !== undefined) throw inexact(`${what}${place(value, Number(token))}`, token);
}

function inexact(place: string, digits: string): Error {
  return Object.assign(new Error(`${place} is ${digits}: a number of JavaScript cannot hold it exactly`), {
    name: 'InexactNumberError',
    code: 'INEXACT_NUMBER',
    suggestion: 'pass an integer from -(2^53 - 1) to 2^53 - 1; the author can declare this parameter as a `bigint` or a string to take more digits',
  });
}

/** Returns the place of a number. */
function place(value: unknown, number: number): string | undefined {
  if (value === number) return '';
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const inner = place(item, number);
    if (inner !== undefined) return Array.isArray(value) ? `[${key}]${inner}` : `.${key}${inner}`;
  }
  return undefined;
}

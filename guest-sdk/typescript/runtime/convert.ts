/**
 * Converts arguments to what the types of a handler say, and results back to JSON. The build makes a plan of a type
 * (build/types/schema.mjs): only what is converted is in it.
 */

import { Buffer } from './node/buffer';

export type Plan =
  | 'date'
  | 'url'
  | 'bytes'
  | 'buffer'
  | 'bigint'
  /** Properties, the other properties, and values of those that are absent. */
  | { o?: Record<string, Plan>; r?: Plan; v?: Record<string, unknown> }
  /** The items of a tuple, and those after them or of a list. */
  | { t?: (Plan | 0)[]; l?: Plan }
  /** A Set, and its items. */
  | { s: Plan | 0 }
  /** A Map, its values, and whether its keys are numbers. */
  | { m: Plan | 0; n?: 1 }
  /** Alternatives. */
  | { u: [Matcher, Plan | 0][] }
  /** A plan of `definitions`. */
  | { d: string };

/** What tells an alternative from the others. */
interface Matcher {
  t?: string | string[];
  c?: unknown[];
  f?: string;
  q?: string[];
  k?: Record<string, unknown[]>;
}

export interface WholePlan {
  plan: Plan;
  definitions?: Record<string, Plan>;
}

type Leaf = 'date' | 'url' | 'bytes' | 'buffer' | 'bigint';
type Leaves = Record<Leaf, (value: any, place: string) => unknown>;
type Json = Record<string, unknown>;

/** Converts what was parsed. `bigint` makes a big integer of what stands for a number. */
export function fromJson(value: unknown, { plan, definitions = {} }: WholePlan, bigint: (value: any) => unknown): unknown {
  const leaves: Leaves = { date: toDate, url: toUrl, bytes: toBytes, buffer: toBuffer, bigint };
  const convert = (item: unknown, by: Plan | 0 | undefined, place: string): unknown => {
    if (!by || item === null || item === undefined) return item;
    if (typeof by === 'string') return leaves[by](item, place);
    if ('d' in by) return convert(item, definitions[by.d], place);
    if ('u' in by) return convert(item, by.u.find(([matcher]) => matches(item, matcher))?.[1], place);
    if ('s' in by) return new Set((item as unknown[]).map((each, index) => convert(each, by.s, `${place}[${index}]`)));
    if ('m' in by) return new Map(Object.entries(item).map(([key, each]) => [by.n ? Number(key) : key, convert(each, by.m, `${place}.${key}`)]));
    if (Array.isArray(item)) return 't' in by || 'l' in by ? item.map((each, index) => convert(each, by.t?.[index] ?? (by as { l?: Plan }).l, `${place}[${index}]`)) : item;
    return typeof item === 'object' ? record(item as Json, by as { o?: Record<string, Plan>; r?: Plan; v?: Json }, place) : item;
  };
  const record = (item: Json, { o = {}, r, v }: { o?: Record<string, Plan>; r?: Plan; v?: Json }, place: string): Json => {
    const made: Json = { ...(v && structured(v)), ...item };
    for (const key of Object.keys(r ? made : o)) {
      if (Object.hasOwn(made, key)) made[key] = convert(made[key], Object.hasOwn(o, key) ? o[key] : r, `${place}.${key}`);
    }
    return made;
  };
  return convert(value, plan, 'input');
}

/** Converts a result to values that JSON.stringify writes. `bigint` returns what stands for a big integer. */
export function toJsonValue(value: unknown, { plan, definitions = {} }: WholePlan, bigint: (value: bigint) => unknown): unknown {
  const convert = (item: any, by: Plan | 0 | undefined): unknown => {
    if (typeof item === 'bigint') return by ? bigint(item) : item;
    if (!by || typeof item !== 'object' || item === null) return item;
    if (by === 'bytes' || by === 'buffer') return item instanceof Uint8Array ? Buffer.from(item).toString('base64') : item;
    if (typeof by === 'string') return item;
    if ('d' in by) return convert(item, definitions[by.d]);
    if ('u' in by) return convertAny(item, by.u);
    if ('s' in by) return item instanceof Set ? [...item].map((each) => convert(each, by.s)) : item;
    if ('m' in by) return item instanceof Map ? Object.fromEntries([...item].map(([key, each]) => [key, convert(each, by.m)])) : item;
    if (Array.isArray(item)) return item.map((each, index) => convert(each, (by as { t?: (Plan | 0)[] }).t?.[index] ?? (by as { l?: Plan }).l));
    const { o = {}, r } = by as { o?: Record<string, Plan>; r?: Plan };
    return Object.fromEntries(Object.entries(item).map(([key, each]) => [key, convert(each, Object.hasOwn(o, key) ? o[key] : r)]));
  };
  const convertAny = (item: object, alternatives: [Matcher, Plan | 0][]): unknown => {
    const plain = item instanceof Set ? [] : item instanceof Uint8Array ? '' : item;
    return convert(item, alternatives.find(([matcher, by]) => by && matches(plain, { ...matcher, f: undefined }))?.[1]);
  };
  return convert(value, plan);
}

/** Whether a plan has a big integer somewhere. */
export function hasBigInt(plan: WholePlan | undefined): boolean {
  return plan !== undefined && JSON.stringify(plan).includes('"bigint"');
}

const FORMATS: Record<string, RegExp> = {
  'date-time': /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d/,
  uri: /^[A-Za-z][A-Za-z0-9+.-]*:/,
  base64: /^[A-Za-z0-9+/]*={0,2}$/,
};

function matches(value: unknown, { t, c, f, q, k }: Matcher): boolean {
  if (t && ![t].flat().some((type) => isOf(type, value))) return false;
  if (c && !c.includes(value)) return false;
  if (f && typeof value === 'string' && FORMATS[f] && !FORMATS[f].test(value)) return false;
  if (q?.some((key) => !Object.hasOwn(value as Json, key))) return false;
  return Object.entries(k ?? {}).every(([key, values]) => !Object.hasOwn(value as Json, key) || values.includes((value as Json)[key]));
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  if (type === 'integer') return typeof value === 'bigint' || Number.isInteger(value) || isLarge(value);
  return typeof value === type;
}

/** How input.ts writes an integer of many digits. */
function isLarge(value: unknown): boolean {
  return typeof value === 'string' && value.startsWith('\0n');
}

function structured(values: Json): Json {
  return JSON.parse(JSON.stringify(values)) as Json;
}

function toDate(text: unknown, place: string): Date {
  const date = new Date(text as string);
  if (Number.isNaN(date.getTime())) throw notOfType(place, text, 'a date with a time, such as 2026-01-31T12:00:00Z');
  return date;
}

function toUrl(text: unknown, place: string): URL {
  try {
    return new URL(text as string);
  } catch {
    throw notOfType(place, text, 'a URL, such as https://example.com/a');
  }
}

function toBuffer(text: unknown, place: string): Uint8Array {
  if (!FORMATS.base64!.test(text as string)) throw notOfType(place, text, 'base64');
  return Buffer.from(text as string, 'base64');
}

function toBytes(text: unknown, place: string): Uint8Array {
  return Uint8Array.from(toBuffer(text, place));
}

function notOfType(place: string, value: unknown, type: string): Error {
  return Object.assign(new Error(`${place} is ${JSON.stringify(value)?.slice(0, 100)}, which is not ${type}`), {
    name: 'InvalidInputError',
    code: 'INVALID_INPUT',
    suggestion: `pass ${type}`,
  });
}

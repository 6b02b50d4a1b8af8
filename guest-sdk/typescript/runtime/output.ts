/** Converts the return value of a handler to the contract's `outcome`. */
import { toJsonValue, type WholePlan } from './convert';
import { Pending } from './toolhost';

export type Outcome = { tag: 'output' | 'pending'; val: string };

/** `plan`: what the types of the handler say of its result. */
export function toOutcome(value: unknown, plan?: WholePlan): Outcome {
  if (value instanceof Pending) return { tag: 'pending', val: value.handle };
  return { tag: 'output', val: plan ? toJsonBy(plan, value) : toJson(value, 'output') };
}

/** Writes an output with values that JSON has not. */
function toJsonBy(plan: WholePlan, value: unknown): string {
  let count = 0;
  const without = toJson(toJsonValue(value, plan, () => (count += 1)), 'output');
  if (count === 0) return without;
  // Digits stand in a text that occurs nowhere else.
  let mark = 'n';
  while (without.includes(`\\u0000${mark}`)) mark += 'n';
  const marked = toJson(toJsonValue(value, plan, (digits) => `\0${mark}${digits}`), 'output');
  return marked.replace(new RegExp(`"\\\\u0000${mark}(-?\\d+)"`, 'g'), '$1');
}

/** Writes `what`. Throws where JSON cannot hold the value. */
export function toJson(value: unknown, what: string): string {
  if (value === undefined) return 'null';
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    throw notJson(findNotJson(value, what) ?? `the conversion of ${what} failed: ${String(error)}`);
  }
  if (json === undefined) throw notJson(`${what} is a ${typeof value}`);
  // JSON.stringify writes them as null.
  const lost = json.includes('null') ? findNotJson(value, what) : undefined;
  if (lost) throw notJson(lost);
  return withoutHalves(json);
}

/** Replaces halves of characters, as cutting a text leaves them: the contract's texts are Unicode. */
function withoutHalves(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replace(/\\(?:\\|ud[89a-f][0-9a-f]{2})/g, (escape) => (escape === '\\\\' ? escape : '\ufffd'));
}

function notJson(why: string): Error {
  return Object.assign(new Error(`a value is not JSON: ${why}`), {
    name: 'InvalidOutputError',
    code: 'NOT_JSON',
    suggestion: 'the author must correct the tool: it must return plain values, such as String(n) for a BigInt',
  });
}

/** Says where the first value is that JSON cannot hold. */
function findNotJson(value: unknown, at: string, above: object[] = []): string | undefined {
  if (typeof value === 'bigint') return `${at} is a BigInt`;
  if (typeof value === 'number' && !Number.isFinite(value)) return `${at} is ${value}`;
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return undefined;
  if (above.includes(value)) return `${at} refers to a value that contains it`;
  for (const [key, item] of Object.entries(value)) {
    const place = Array.isArray(value) ? `${at}[${key}]` : `${at}.${key}`;
    const found = findNotJson(item, place, [...above, value]);
    if (found) return found;
  }
  return undefined;
}

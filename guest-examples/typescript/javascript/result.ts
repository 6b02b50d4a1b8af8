/** The value that a script returns, as JSON. */
import type { JsonValue } from 'toolhost';
import { Misuse } from './misuse';

/** The host takes 64 values within each other; the result is within the output. */
const MAX_DEPTH = 62;

export function toResult(value: unknown): JsonValue {
  return plain(value, 'result', []) ?? null;
}

/** Returns a copy that is JSON; undefined for what JSON leaves out. */
function plain(value: unknown, path: string, above: readonly object[]): JsonValue | undefined {
  switch (typeof value) {
    case 'undefined':
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (Number.isFinite(value)) return value;
      throw notResult(path, String(value), 'return null or a string in its place');
    case 'bigint':
      throw notResult(path, 'a BigInt', 'return String(n), or Number(n) if it is small');
    case 'function':
      throw notResult(path, 'a function', 'call it, and return what it returns');
    case 'symbol':
      throw notResult(path, 'a symbol', 'return a string');
  }
  return value === null ? null : plainObject(value as object, path, above);
}

function plainObject(value: object, path: string, above: readonly object[]): JsonValue | undefined {
  if (above.includes(value)) throw notResult(path, 'a value that contains it', 'return a copy of the parts that are needed');
  if (above.length > MAX_DEPTH) throw notResult(path.slice(0, 200), `more than ${MAX_DEPTH} deep`, 'return a flatter value');
  if (value instanceof Promise) throw notResult(path, 'a promise', 'write `await` before it');
  if (value instanceof Map) throw notResult(path, 'a Map', 'return Object.fromEntries(map)');
  if (value instanceof Set) throw notResult(path, 'a Set', 'return [...set]');
  const within = [...above, value];
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return plain(toJSON.call(value, path), path, within);
  if (value instanceof Error) return { name: String(value.name), message: String(value.message) };
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) throw notResult(path, 'bytes', "return Buffer.from(bytes).toString('base64')");
  if (Array.isArray(value)) return Array.from(value, (item, index) => plain(item, `${path}[${index}]`, within) ?? null);
  // Without a prototype, `__proto__` is a name like any other.
  const copy = Object.create(null) as Record<string, JsonValue>;
  for (const [key, item] of Object.entries(value)) {
    const made = plain(item, /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`, within);
    if (made !== undefined) copy[key] = made;
  }
  return copy;
}

function notResult(path: string, why: string, suggestion: string): Error {
  return new Misuse(`the result is not JSON: ${path} is ${why}`, suggestion);
}

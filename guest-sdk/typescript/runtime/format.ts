/** `util.inspect` and `util.format`, bounded: what is printed is for a log. */
import objectInspect from 'object-inspect';

const DEPTH = 4;
const MAX_STRING_UNITS = 4_096;

export interface InspectOptions {
  depth?: number | null;
}

/** The method by which an object says how it is printed. */
export const CUSTOM = Symbol.for('nodejs.util.inspect.custom');

export function inspect(value: unknown, options: InspectOptions = {}): string {
  const custom = (value as Record<symbol, unknown> | null | undefined)?.[CUSTOM];
  if (typeof custom === 'function') {
    const text: unknown = custom.call(value, options.depth ?? DEPTH, options, inspect);
    return typeof text === 'string' ? text : inspect(text, options);
  }
  if (value instanceof Error) return describeError(value);
  const depth = options.depth === null ? Infinity : (options.depth ?? DEPTH);
  try {
    return objectInspect(value, { depth: depth + 1, maxStringLength: MAX_STRING_UNITS, quoteStyle: 'single' });
  } catch (error) {
    return `[not printable: ${String(error)}]`;
  }
}

/** The stack with the message on top, then the error's own fields and its cause. */
function describeError(error: Error): string {
  const head = `${error.name}: ${error.message}`;
  const stack = (error.stack ?? '').trimEnd();
  let text = stack.startsWith(head) || stack === '' ? stack || head : `${head}\n${stack}`;
  const fields = Object.fromEntries(Object.entries(error).filter(([key]) => !['name', 'message', 'stack'].includes(key)));
  if (Object.keys(fields).length > 0) text += ` ${objectInspect(fields)}`;
  if (error.cause !== undefined) text += `\n[cause]: ${inspect(error.cause)}`;
  return text;
}

/** Formats like `printf` where the first argument is text, and joins the others with spaces. */
export function format(...args: unknown[]): string {
  const [first, ...rest] = args;
  if (rest.length === 0 && typeof first === 'string' && !first.includes('%')) return first;
  let head: string[] = [];
  if (typeof first === 'string') {
    head = [
      first.replace(/%[sdifjoOc%]/g, (directive) => {
        if (directive === '%%') return '%';
        if (rest.length === 0) return directive;
        return formatOne(directive, rest.shift());
      }),
    ];
  } else if (args.length > 0) {
    rest.unshift(first);
  }
  return [...head, ...rest.map((value) => (typeof value === 'string' ? value : inspect(value)))].join(' ');
}

function formatOne(directive: string, value: unknown): string {
  switch (directive) {
    case '%s':
      return typeof value === 'object' && value !== null ? inspect(value, { depth: 0 }) : String(value);
    case '%d':
      return typeof value === 'bigint' ? `${value}n` : String(Number(value));
    case '%i':
      return String(Number.parseInt(String(value), 10));
    case '%f':
      return String(Number.parseFloat(String(value)));
    case '%c':
      return '';
    case '%j':
      return toJson(value);
    default:
      return inspect(value);
  }
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'undefined';
  } catch {
    return '[not serialisable]';
  }
}

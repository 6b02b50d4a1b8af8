/** `node:querystring`. */

type Values = Record<string, string | string[]>;

function escape(text: string): string {
  return encodeURIComponent(text);
}

function unescape(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(/(%[0-9a-f]{2})+/gi, (run) => {
      try {
        return decodeURIComponent(run);
      } catch {
        return run;
      }
    });
  }
}

interface Options {
  maxKeys?: number;
  decodeURIComponent?: (text: string) => string;
  encodeURIComponent?: (text: string) => string;
}

function parse(text: string, separator = '&', equals = '=', options: Options = {}): Values {
  const values: Values = Object.create(null);
  if (typeof text !== 'string' || text === '') return values;
  const { maxKeys = 1000, decodeURIComponent = querystring.unescape } = options;
  const pairs = text.split(separator || '&');
  for (const pair of maxKeys > 0 ? pairs.slice(0, maxKeys) : pairs) {
    if (pair === '') continue;
    const [key = '', value = ''] = splitOnce(pair.replaceAll('+', ' '), equals || '=').map(decodeURIComponent);
    const before = values[key];
    if (before === undefined) values[key] = value;
    else if (Array.isArray(before)) before.push(value);
    else values[key] = [before, value];
  }
  return values;
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

function stringify(values: Record<string, unknown>, separator = '&', equals = '=', options: Options = {}): string {
  if (typeof values !== 'object' || values === null) return '';
  const encode = options.encodeURIComponent ?? querystring.escape;
  const text = (value: unknown) => (['string', 'number', 'bigint', 'boolean'].includes(typeof value) ? String(value) : '');
  return Object.entries(values)
    .flatMap(([key, value]) => (Array.isArray(value) ? value : [value]).map((each) => `${encode(key)}${equals || '='}${encode(text(each))}`))
    .join(separator || '&');
}

const querystring = { escape, unescape, parse, stringify, decode: parse, encode: stringify };

export default querystring;

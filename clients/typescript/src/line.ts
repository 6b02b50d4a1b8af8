/** A message as a line of JSON, with the digits of every integer. */

/** Stands for the quotes of a number that JSON.stringify would refuse to write. No other process knows it. */
const MARK = `bigint:${crypto.randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, 'g');

/** Writes a message. Throws a TypeError with the place of a value that JSON cannot hold. */
export function toLine(message: object): string {
  let marked = false;
  const json = JSON.stringify(message, (_, value: unknown) => {
    if (typeof value !== 'bigint') return value;
    marked = true;
    return `${MARK}${value}`;
  });
  const fault = findFault(message);
  if (fault) throw new TypeError(fault);
  return marked ? json.replace(MARKED, '$1') : json;
}

/** Reads a message. An integer beyond ±(2^53 - 1) becomes the text of its digits. */
export function fromLine(line: string): unknown {
  const message: unknown = JSON.parse(line);
  return /\d{16}/.test(line) ? JSON.parse(withQuotedIntegers(line)) : message;
}

/** Returns the place and the fault of the first value that would not arrive as it is. */
function findFault(value: unknown): string | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return ` is ${value}: JSON has no such number`;
  if (typeof value === 'string' && !value.isWellFormed()) return ' has half of a surrogate pair: use toWellFormed()';
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const fault = findFault(key) ?? findFault(item);
    if (fault) return fault.startsWith(' ') ? `${key}${fault}` : `${key}.${fault}`;
  }
  return undefined;
}

/** Puts quotes around the integers of a JSON text that a number of JavaScript cannot hold. */
function withQuotedIntegers(json: string): string {
  const token = /["\d-]/g;
  const number = /-?\d+(\.\d+)?([eE][+-]?\d+)?/y;
  const parts: string[] = [];
  let copied = 0;
  for (let match = token.exec(json); match; match = token.exec(json)) {
    if (match[0] === '"') {
      token.lastIndex = endOfString(json, token.lastIndex);
      continue;
    }
    number.lastIndex = match.index;
    const [text = '', fraction, exponent] = number.exec(json) ?? [];
    token.lastIndex = match.index + text.length;
    if (fraction === undefined && exponent === undefined && !Number.isSafeInteger(Number(text))) {
      parts.push(json.slice(copied, match.index), `"${text}"`);
      copied = token.lastIndex;
    }
  }
  return parts.join('') + json.slice(copied);
}

/** Returns the index after the quote that ends a string whose content begins at `start`. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start); end >= 0; end = json.indexOf('"', end + 1)) {
    let first = end;
    while (json[first - 1] === '\\') first -= 1;
    if ((end - first) % 2 === 0) return end + 1;
  }
  return json.length;
}

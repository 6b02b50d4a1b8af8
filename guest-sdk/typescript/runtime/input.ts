/** Reads JSON of the host: the arguments of a call, the answer of an agent. */

/** Parses `what`. Throws where a number of JavaScript cannot hold an integer. */
export function toValue(json: string, what: string): unknown {
  const value: unknown = JSON.parse(json);
  if (hasLargeInteger(value)) refuseInexact(json, value, what);
  return value;
}

function hasLargeInteger(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasLargeInteger);
}

/** Strings and numbers of a JSON text. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function refuseInexact(json: string, value: unknown, what: string): void {
  // What the engine would write for the number that it reads.
  const inexact = json.match(TOKEN)?.find((token) => /^-?\d{16,}$/.test(token) && String(Number(token)) !== token);
  if (inexact === undefined) return;
  throw Object.assign(new Error(`${what}${place(value, Number(inexact))} is ${inexact}: a number of JavaScript cannot hold it exactly`), {
    name: 'InexactNumberError',
    code: 'INEXACT_NUMBER',
    suggestion: 'pass an integer from -(2^53 - 1) to 2^53 - 1; the author can declare this parameter as a string to take more digits',
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

/** Reads the arguments of a call. */

/** Parses the arguments. Throws where a number of JavaScript cannot hold an integer. */
export function toInput(json: string): unknown {
  const input: unknown = JSON.parse(json);
  if (hasLargeInteger(input)) refuseInexact(json, input);
  return input;
}

function hasLargeInteger(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasLargeInteger);
}

/** Strings and numbers of a JSON text. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function refuseInexact(json: string, input: unknown): void {
  // What the engine would write for the number that it reads.
  const inexact = json.match(TOKEN)?.find((token) => /^-?\d{16,}$/.test(token) && String(Number(token)) !== token);
  if (inexact === undefined) return;
  throw Object.assign(new Error(`input${place(input, Number(inexact))} is ${inexact}: a number of JavaScript cannot hold it exactly`), {
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

/** Reads the arguments of a call. */

/** Fewer digits are held exactly by every number. */
const MANY_DIGITS = /[0-9]{16}/;

/** A text, a number, or a mark of JSON. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?[0-9][-+.eE0-9]*|[[\]{},:]/g;

/** Parses JSON. An integer beyond 2^53 is an error that names the place: `JSON.parse` would round it. */
export function fromJson(json: string): unknown {
  const value = JSON.parse(json);
  if (MANY_DIGITS.test(json)) refuseRounded(json);
  return value;
}

function refuseRounded(json: string): void {
  const path: (string | number)[] = [];
  let isName = false;
  for (const [token] of json.matchAll(TOKENS)) {
    const last = path.length - 1;
    if (token === '{' || token === '[') {
      path.push(token === '{' ? '' : 0);
      isName = token === '{';
    } else if (token === '}' || token === ']') {
      path.pop();
      isName = false;
    } else if (token === ',') {
      if (typeof path[last] === 'number') path[last]++;
      else isName = true;
    } else if (isName && token !== ':') {
      path[last] = JSON.parse(token);
      isName = false;
    } else if (/^-?[0-9]+$/.test(token) && !Number.isSafeInteger(Number(token))) {
      throw rounded(token, path);
    }
  }
}

function rounded(digits: string, path: readonly (string | number)[]): Error {
  const place = path.map((step) => `/${String(step).replace(/~/g, '~0').replace(/\//g, '~1')}`).join('');
  return Object.assign(new Error(`the integer ${digits} at ${place || 'the top'} is beyond 2^53, and would be rounded`), {
    name: 'InvalidInputError',
    code: 'INEXACT_NUMBER',
    suggestion: 'the author must correct the tool: it must declare ids of this size as strings',
  });
}

/** Compares texts: first by letters, then by accents, then by lower and upper case. */
import { LOCALE } from './locale';
import { MARKS, isDigit, isLetter, normal } from './unicode';

interface Options {
  numeric?: boolean;
  sensitivity?: 'base' | 'accent' | 'case' | 'variant';
  caseFirst?: string;
}

/** Signs in their order. */
const SIGNS = '_-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$';

/** Space and signs before digits before letters, as in English. */
function rank(character: string): number {
  if (/\s/.test(character)) return 0;
  if (isLetter(character)) return 3;
  if (isDigit(character)) return 2;
  const sign = SIGNS.indexOf(character);
  return sign < 0 ? 1.9 : 1 + sign / 100;
}

function order(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function compareBase(a: string, b: string, numeric: boolean): number {
  const split = numeric ? /\d+|./gsu : /./gsu;
  const [left, right] = [a.match(split) ?? [], b.match(split) ?? []];
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    const [x, y] = [left[at]!, right[at]!];
    if (x === y) continue;
    if (numeric && /^\d/.test(x) && /^\d/.test(y)) {
      const difference = Number(x) - Number(y);
      if (difference !== 0) return Math.sign(difference);
      continue;
    }
    return Math.sign(rank(x) - rank(y)) || order(x, y);
  }
  return Math.sign(left.length - right.length);
}

const withoutAccents = (text: string) => normal(text, 'NFD').replace(MARKS, '').replaceAll('ß', 'ss');

export function compare(a: string, b: string, { numeric = false, sensitivity = 'variant' }: Options = {}): number {
  if (a === b) return 0;
  const [left, right] = [normal(a, 'NFC'), normal(b, 'NFC')];
  const base = compareBase(withoutAccents(left).toLowerCase(), withoutAccents(right).toLowerCase(), numeric);
  if (base !== 0 || sensitivity === 'base') return base;
  const accents = order(normal(left.toLowerCase(), 'NFD'), normal(right.toLowerCase(), 'NFD'));
  if (sensitivity === 'accent') return accents;
  const [plainLeft, plainRight] = [withoutAccents(left), withoutAccents(right)];
  // A lower-case letter comes first.
  const cases = order(plainRight, plainLeft);
  return sensitivity === 'case' ? cases : accents || cases;
}

export class Collator {
  readonly #options: Options;

  constructor(_?: unknown, options: Options = {}) {
    this.#options = options;
  }

  get compare(): (a: string, b: string) => number {
    return (a, b) => compare(String(a), String(b), this.#options);
  }

  resolvedOptions(): object {
    return { locale: LOCALE, usage: 'sort', sensitivity: 'variant', ignorePunctuation: false, collation: 'default', numeric: false, caseFirst: 'false', ...this.#options };
  }
}

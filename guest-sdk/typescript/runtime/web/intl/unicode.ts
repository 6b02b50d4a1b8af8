/** Classes of characters. StarlingMonkey has none in its patterns: there, the commonest. */

/** Returns a pattern, or another one where the engine cannot read it. */
export function pattern(source: string, otherwise: RegExp): RegExp {
  try {
    return new RegExp(source, 'gu');
  } catch {
    return otherwise;
  }
}

export const MARKS = pattern('\\p{M}', /[\u0300-\u036f]/gu);

const LETTER = pattern('\\p{L}', /[A-Za-z\u00aa-\u02af\u0370-\u1fff\u3040-\ud7ff]/gu);
const DIGIT = pattern('\\p{N}', /\d/gu);

export const isLetter = (text: string) => text.search(LETTER) >= 0;
export const isDigit = (text: string) => text.search(DIGIT) >= 0;

/** Returns a text in a normal form, where the engine knows them. */
export const normal = (text: string, form: string) => (text.normalize ? text.normalize(form) : text);

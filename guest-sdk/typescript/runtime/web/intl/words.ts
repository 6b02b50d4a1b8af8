/** Lists, plurals, relative times and segments in English. */
import { LOCALE } from './locale';
import { NumberFormat } from './number';
import { isLetter, pattern } from './unicode';

const resolved = (options: object) => ({ locale: LOCALE, ...options });

interface Part {
  type: string;
  value: string;
}

export class ListFormat {
  readonly #options: { type?: 'conjunction' | 'disjunction' | 'unit'; style?: string };

  constructor(_?: unknown, options: { type?: 'conjunction' | 'disjunction' | 'unit'; style?: string } = {}) {
    this.#options = options;
  }

  format(items: Iterable<string>): string {
    return this.formatToParts(items).map(({ value }) => value).join('');
  }

  formatToParts(items: Iterable<string>): Part[] {
    const all = [...items];
    const { type = 'conjunction', style = 'long' } = this.#options;
    const word = type === 'conjunction' ? (style === 'long' ? 'and' : '&') : type === 'disjunction' ? 'or' : '';
    const comma = type === 'unit' && style === 'narrow' ? ' ' : ', ';
    const last = word === '' ? comma : all.length === 2 ? ` ${word} ` : `, ${word} `;
    return all.flatMap((value, index) => [
      ...(index > 0 ? [{ type: 'literal', value: index === all.length - 1 ? last : comma }] : []),
      { type: 'element', value },
    ]);
  }

  resolvedOptions(): object {
    return resolved({ type: 'conjunction', style: 'long', ...this.#options });
  }
}

export class PluralRules {
  readonly #options: { type?: 'cardinal' | 'ordinal' };

  constructor(_?: unknown, options: { type?: 'cardinal' | 'ordinal' } = {}) {
    this.#options = options;
  }

  select(number: number): string {
    if (this.#options.type !== 'ordinal') return number === 1 ? 'one' : 'other';
    const [ten, hundred] = [number % 10, number % 100];
    if (ten === 1 && hundred !== 11) return 'one';
    if (ten === 2 && hundred !== 12) return 'two';
    return ten === 3 && hundred !== 13 ? 'few' : 'other';
  }

  resolvedOptions(): object {
    return resolved({ type: 'cardinal', ...this.#options, pluralCategories: this.#options.type === 'ordinal' ? ['few', 'one', 'two', 'other'] : ['one', 'other'] });
  }
}

/** What is said instead of `in 1 day` and `1 day ago`, with `numeric: 'auto'`. */
const NAMED: Record<string, string[]> = { day: ['yesterday', 'today', 'tomorrow'], second: ['', 'now', ''] };

export class RelativeTimeFormat {
  readonly #options: { numeric?: 'always' | 'auto'; style?: string };

  constructor(_?: unknown, options: { numeric?: 'always' | 'auto'; style?: string } = {}) {
    this.#options = options;
  }

  format(value: number, unit: string): string {
    const name = unit.replace(/s$/, '');
    if (this.#options.numeric === 'auto' && Math.abs(value) <= 1) {
      const isSpan = ['week', 'month', 'quarter', 'year'].includes(name);
      const named = NAMED[name]?.[value + 1] ?? (isSpan ? [`last ${name}`, `this ${name}`, `next ${name}`][value + 1] : value === 0 ? `this ${name}` : undefined);
      if (named) return named;
    }
    const amount = Math.abs(value);
    const text = `${new NumberFormat().format(amount)} ${name}${amount === 1 ? '' : 's'}`;
    return value < 0 || Object.is(value, -0) ? `${text} ago` : `in ${text}`;
  }

  formatToParts(value: number, unit: string): Part[] {
    return [{ type: 'literal', value: this.format(value, unit) }];
  }

  resolvedOptions(): object {
    return resolved({ numeric: 'always', style: 'long', numberingSystem: 'latn', ...this.#options });
  }
}

/** One grapheme: a character with marks, a flag, or emoji that are joined. */
const GRAPHEME = pattern(
  '\\r\\n|\\p{RI}\\p{RI}|\\p{Emoji}(?:\\p{EMod}|\\ufe0f?\\u20e3?)?(?:\\u200d\\p{Emoji}(?:\\p{EMod}|\\ufe0f)?)+|[\\u1100-\\u115f]+[\\u1160-\\u11a7]*[\\u11a8-\\u11ff]*|[^](?:\\p{M}|\\p{EMod}|\\u200d|\\ufe0f)*',
  /[^][\u0300-\u036f]*/gu,
);
const WORD = pattern("[\\p{L}\\p{N}\\p{M}_]+(?:['’.](?=\\p{L})[\\p{L}\\p{N}\\p{M}]+)*|\\s+|[^]", /[\w\u0080-\uffff]+|\s+|[^]/gu);
const SENTENCE = /[^.!?]*[.!?]*["')\]]*\s*/gu;

export class Segmenter {
  readonly #granularity: 'grapheme' | 'word' | 'sentence';

  constructor(_?: unknown, options: { granularity?: 'grapheme' | 'word' | 'sentence' } = {}) {
    this.#granularity = options.granularity ?? 'grapheme';
  }

  segment(input: string): Iterable<object> & { containing(index: number): object | undefined } {
    const granularity = this.#granularity;
    const parts = granularity === 'word' ? WORD : granularity === 'sentence' ? SENTENCE : GRAPHEME;
    const all = [...input.matchAll(parts)]
      .filter(([segment]) => segment !== '')
      .map(({ 0: segment, index }) => ({ segment, index, input, ...(granularity === 'word' && { isWordLike: isLetter(segment) || /\d/.test(segment) }) }));
    return {
      [Symbol.iterator]: () => all[Symbol.iterator](),
      containing: (at) => all.find(({ index, segment }) => at >= index && at < index + segment.length),
    };
  }

  resolvedOptions(): object {
    return resolved({ granularity: this.#granularity });
  }
}

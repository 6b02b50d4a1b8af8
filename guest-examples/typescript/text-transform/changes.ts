/**
 * The changes themselves. All take time in proportion to the text: patterns are fixed, each character is
 * looked at once, and what a caller wants found is never a pattern.
 */
import { TextError } from './failure';

export type Case = 'upper' | 'lower' | 'title' | 'camel' | 'snake' | 'slug';

export interface Replacement {
  find: string;
  with: string;
  ignoreCase?: boolean;
}

export interface LineChanges {
  trim?: boolean;
  contains?: string;
  unique?: boolean;
  sort?: 'up' | 'down';
  number?: boolean;
}

/** The most a replacement may make, in UTF-16 units. */
const MAX_UNITS = 16 << 20;

const WORD = /[\p{L}\p{M}\p{N}]+/gu;

export function changeCase(text: string, to: Case): string {
  switch (to) {
    case 'upper':
      return text.toUpperCase();
    case 'lower':
      return text.toLowerCase();
    case 'title':
      return text.replace(/[\p{L}\p{N}][\p{L}\p{M}\p{N}'’]*/gu, capitalised);
    case 'camel':
      return wordsOf(text)
        .map((word, index) => (index === 0 ? word.toLowerCase() : capitalised(word)))
        .join('');
    case 'snake':
      return wordsOf(text).join('_').toLowerCase();
    case 'slug':
      return wordsOf(withoutAccents(text)).join('-').toLowerCase();
  }
}

/** Words, also those within `someName`; there is at least one. */
function wordsOf(text: string): string[] {
  const words = text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').match(WORD);
  if (!words) throw new TextError('NO_WORDS', 'the text has no letters or digits to make a name of', 'pass a text with words');
  return words;
}

function withoutAccents(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').normalize('NFC');
}

function capitalised(word: string): string {
  const [first = ''] = word;
  return first.toUpperCase() + word.slice(first.length).toLowerCase();
}

export function replaceAll(text: string, { find, with: put, ignoreCase = false }: Replacement) {
  const literal = ignoreCase ? new RegExp(find.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'giu') : find;
  let replaced = 0;
  let units = text.length;
  const changed = text.replaceAll(literal, (found) => {
    replaced += 1;
    units += put.length - found.length;
    if (units > MAX_UNITS) {
      throw new TextError('TOO_LARGE', `the result would have more than ${MAX_UNITS} characters`, 'replace in a smaller text, or put less in');
    }
    return put;
  });
  if (replaced === 0) {
    throw new TextError('NOT_IN_TEXT', `'${find}' is not in the text`, ignoreCase ? 'look at the text' : 'look at the text, or pass `ignoreCase`');
  }
  return { text: changed, replaced };
}

export function changeLines(text: string, { trim, contains, unique, sort, number }: LineChanges) {
  let lines = text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/);
  if (trim) lines = lines.map((line) => line.trim());
  if (contains !== undefined) lines = lines.filter((line) => line.includes(contains));
  if (unique) lines = [...new Set(lines)].filter((line) => line !== '');
  if (sort) lines = sorted(lines, sort === 'up' ? 1 : -1);
  if (number) {
    const width = String(lines.length).length;
    lines = lines.map((line, index) => `${String(index + 1).padStart(width)}  ${line}`);
  }
  return { text: lines.map((line) => `${line}\n`).join(''), lines: lines.length };
}

/** `a2` before `a10`: runs of digits count by their value. */
function sorted(lines: string[], direction: number): string[] {
  const keyed = lines.map((line) => ({ line, key: line.split(/(\d+)/) }));
  return keyed.sort((a, b) => direction * compareKeys(a.key, b.key)).map(({ line }) => line);
}

/** Text and digits take turns in a key, text first. */
function compareKeys(a: string[], b: string[]): number {
  for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
    const difference = at % 2 === 1 ? Number(a[at]) - Number(b[at]) : compare(a[at]!, b[at]!);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A word longer than a line has one to itself. */
export function wrap(text: string, width: number, indent: string): string {
  const room = width - [...indent].length;
  if (room < 1) throw new TextError('NO_ROOM', `an indent of ${[...indent].length} leaves no room in ${width}`, 'pass a larger `width`, or a shorter `indent`');
  const paragraphs = text.split(/\n[^\S\n]*\n/).map((paragraph) => paragraph.match(/\S+/g) ?? []);
  const filled = paragraphs.filter((words) => words.length > 0);
  return filled.map((words) => linesOf(words, room).map((line) => `${indent}${line}\n`).join('')).join('\n');
}

function linesOf(words: string[], room: number): string[] {
  const lines: string[] = [];
  let line: string[] = [];
  let used = 0;
  for (const word of words) {
    const length = [...word].length;
    if (line.length > 0 && used + 1 + length > room) {
      lines.push(line.join(' '));
      line = [];
      used = 0;
    }
    used += length + (line.length > 0 ? 1 : 0);
    line.push(word);
  }
  return [...lines, line.join(' ')];
}

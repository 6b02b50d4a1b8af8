import { readFile } from 'node:fs/promises';
import type { ToolContext } from 'toolhost';

const OFFSET = 32;

interface Convert {
  /** Degrees. @minimum -273.15 @maximum 10000 */
  value: number;
  /** From Celsius, or to it. */
  direction: 'c_to_f' | 'f_to_c';
}

interface Count {
  /** Path of the file. */
  path: string;
}

interface Search {
  /** Path of the file. */
  path: string;
  /** Text that a line contains. @minLength 1 */
  text: string;
  /** How many at most. @integer @minimum 1 @maximum 100 */
  limit?: number;
}

/** Converts a temperature. */
export async function convert(ctx: ToolContext, { value, direction }: Convert) {
  return direction === 'c_to_f' ? { value: value * 1.8 + OFFSET, unit: 'F' } : { value: (value - OFFSET) / 1.8, unit: 'C' };
}

/** Counts the lines and words of a text file. */
export async function count(ctx: ToolContext, { path }: Count) {
  const text = await readFile(path, 'utf8');
  return { lines: text.trimEnd().split('\n').length, words: text.split(/\s+/).filter(Boolean).length };
}

/** Searches the lines of a text file. */
export async function search(ctx: ToolContext, { path, text, limit = 10 }: Search) {
  const lines = (await readFile(path, 'utf8')).split('\n').map((each, index) => ({ line: index + 1, text: each }));
  return lines.filter((each) => each.text.includes(text)).slice(0, limit);
}

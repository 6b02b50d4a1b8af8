import { readFile } from 'node:fs/promises';
import type { ToolContext } from 'toolhost';

interface CountInput {
  /** Path of the file, relative to the workdir. */
  path: string;
}

export const handlers = {
  /** Counts the lines, words and characters of a text file of the workdir. */
  count: async (ctx: ToolContext, { path }: CountInput) => counts(await readFile(path, 'utf8')),
};

export function counts(text: string) {
  return {
    lines: text.split('\n').length - (text.endsWith('\n') ? 1 : 0),
    words: text.split(/\s+/).filter(Boolean).length,
    chars: [...text].length,
  };
}

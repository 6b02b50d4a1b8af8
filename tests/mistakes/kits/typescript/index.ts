// Mistakes of an author at run time, a handler for each. The request is a mistake of the example `fetch`.
import { readFileSync } from 'node:fs';
import type { ToolHandler } from 'toolhost';

export const handlers: Record<string, ToolHandler> = {
  'type-error': () => {
    const count: number = JSON.parse('"three"');
    return count.toFixed(2);
  },
  throw: () => {
    throw new Error('there is no fourth number');
  },
  loop: () => {
    for (;;);
  },
  memory: () => {
    const kept: Uint8Array[] = [];
    for (;;) kept.push(new Uint8Array(1 << 20).fill(1));
  },
  escape: () => readFileSync('../secret.txt', 'utf8'),
};

// Run with: node --test (Node 22.18 or newer)
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ToolContext } from 'toolhost';
import { counts, handlers } from './index.ts';

test('counts lines, words and characters', () => {
  assert.deepEqual(counts('one two\nthree\n'), { lines: 2, words: 3, chars: 14 });
});

test('a missing file is an error', async () => {
  await assert.rejects(handlers.count({} as ToolContext, { path: 'nowhere.txt' }), { code: 'ENOENT' });
});

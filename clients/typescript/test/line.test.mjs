import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fromLine, toLine } from '../dist/line.js';

test('an integer that a number cannot hold is read as the text of its digits', () => {
  for (const [line, value] of [
    ['[9007199254740991, -9007199254740991]', [9007199254740991, -9007199254740991]],
    ['[9007199254740992,-9007199254740993 ]', ['9007199254740992', '-9007199254740993']],
    ['{"a\\\\":12345678901234567890}', { 'a\\': '12345678901234567890' }],
    ['["12345678901234567890", "\\"12345678901234567890"]', ['12345678901234567890', '"12345678901234567890']],
    ['[1234567890123456789.5, 1e30, 0.12345678901234567890]', [1234567890123456789.5, 1e30, 0.1234567890123456789]],
  ]) {
    assert.deepEqual(fromLine(line), value, line);
  }
});

test('a BigInt is written as a number', () => {
  const value = { a: [725653563933458433n, -1n], b: 'bigint:1' };
  assert.equal(toLine(value), '{"a":[725653563933458433,-1],"b":"bigint:1"}');
});

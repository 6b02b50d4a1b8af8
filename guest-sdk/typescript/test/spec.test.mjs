// The file-system tool of the specification, built from its own words.
import assert from 'node:assert';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { before, test } from 'node:test';
import { Tool, fixture, needsHost, temporary } from './toolhost.mjs';

/** The document may be given; else the copy of its example is used. */
const SPEC = process.env.TOOLHOST_SPEC;

let tool;
before(async () => {
  const folder = await temporary();
  const entry = path.join(folder, 'index.ts');
  await writeFile(entry, SPEC ? exampleOf(await readFile(SPEC, 'utf8')) : await readFile(fixture('spec-14-1.ts')));
  if (!needsHost.skip) tool = await Tool.of(entry, ['read', 'write']);
});

function exampleOf(document) {
  const [, section] = document.split('### 14.1');
  return /```typescript\n([\s\S]*?)```/.exec(section)[1];
}

test('the copy of the example is what the specification says', { skip: SPEC ? false : 'TOOLHOST_SPEC does not name the document' }, async () => {
  assert.strictEqual(await readFile(fixture('spec-14-1.ts'), 'utf8'), exampleOf(await readFile(SPEC, 'utf8')));
});

// tool-spec-v2 §14.1
test('the example of the specification writes and reads', needsHost, async () => {
  const workdir = await temporary();
  assert.deepStrictEqual(await tool.output('write', { path: 'a/b.txt', content: '안녕' }, workdir), { path: '/a/b.txt', size: 6, written: true });
  assert.strictEqual(await readFile(path.join(workdir, 'a/b.txt'), 'utf8'), '안녕');
  assert.deepStrictEqual(await tool.output('read', { path: '/a/b.txt' }, workdir), {
    path: '/a/b.txt',
    size: 6,
    truncated: false,
    content: '안녕',
  });
  assert.strictEqual((await tool.output('read', { path: 'a/b.txt', maxBytes: 1 }, workdir)).content, '안');
});

// tool-spec-v2 §14.1, §10.3
test('the example of the specification says that a file is missing', needsHost, async () => {
  const { message, name, code } = await tool.error('read', { path: 'nope' });
  assert.deepStrictEqual({ message, name, code }, { message: '파일이 존재하지 않습니다: /nope', name: 'Error', code: 'E_TOOL' });
});

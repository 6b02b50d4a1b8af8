// The modules of the specification, built from its own words.
import assert from 'node:assert';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { Tool, fixture, needsHost, temporary } from './toolhost.mjs';

/** The document may be given; else the copies of its examples are used. */
const SPEC = process.env.TOOLHOST_SPEC;

const COPIES = { '7.2': 'spec-7-2.ts', 14.1: 'spec-14-1.ts' };

function exampleOf(document, section) {
  const [, text] = document.split(`### ${section}`);
  return /```typescript\n([\s\S]*?)```/.exec(text)[1];
}

async function toolOf(section, exports) {
  const entry = path.join(await temporary(), 'index.ts');
  await writeFile(entry, SPEC ? exampleOf(await readFile(SPEC, 'utf8'), section) : await readFile(fixture(COPIES[section])));
  return Tool.of(entry, exports);
}

test('the copies of the examples are what the specification says', { skip: SPEC ? false : 'TOOLHOST_SPEC does not name the document' }, async () => {
  const document = await readFile(SPEC, 'utf8');
  for (const [section, copy] of Object.entries(COPIES)) assert.strictEqual(await readFile(fixture(copy), 'utf8'), exampleOf(document, section));
});

// tool-spec-v2 §14.1, §10.3
test('the file-system tool writes, reads, and says that a file is missing', needsHost, async () => {
  const tool = await toolOf('14.1', ['read', 'write']);
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
  const { message, name, code } = await tool.error('read', { path: 'nope' });
  assert.deepStrictEqual({ message, name, code }, { message: '파일이 존재하지 않습니다: /nope', name: 'Error', code: 'E_TOOL' });
});

// tool-spec-v2 §7.2
test('the bash tool builds as written, and says where processes are', needsHost, async () => {
  const tool = await toolOf('7.2', ['exec', 'script']);
  const { code, message, suggestion } = await tool.error('exec', { command: 'ls' });
  assert.strictEqual(code, 'NO_PROCESSES');
  assert.match(message, /^Bun\.spawn: a tool runs in a sandbox/);
  assert.match(suggestion, /`bash__exec`/);
});

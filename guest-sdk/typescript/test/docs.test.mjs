// The snippets of the page for authors are code that runs.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { test } from 'node:test';

const { transform } = createRequire(new URL('../build/package.json', import.meta.url))('esbuild');

const page = await readFile(new URL('../../../docs/authors/typescript.md', import.meta.url), 'utf8');
const snippets = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, text]) => text);

/** The JavaScript of a snippet. */
const compiled = async (text) => (await transform(text, { loader: 'ts', format: 'esm' })).code;

test('the handler of the page runs', async () => {
  assert.equal(snippets.length, 3);
  const code = await compiled(snippets[0]);
  const { handlers } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  assert.equal(await handlers.greet({}, { name: 'Ada' }), 'Hello, Ada!');
});

test('the error of the page has a code and a suggestion', async () => {
  const raise = new Function('path', await compiled(snippets[1]));
  assert.throws(() => raise('a.txt'), {
    message: 'no such file: a.txt',
    code: 'NOT_FOUND',
    suggestion: 'pass a path relative to the working directory',
  });
});

test('the tool of the page that calls tools runs', async () => {
  const code = (await compiled(snippets[2])).replace('"toolhost"', '"data:text/javascript,export class ToolError extends Error {}"');
  const { lines } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  const read = async ({ path }) => ({ totalLines: path.length });
  const tools = { 'file-system__glob': async () => ({ files: ['a.ts', 'bc.ts'] }), file_system: { read } };
  assert.deepEqual(await lines({ tools }, { pattern: '*.ts' }), { 'a.ts': 4, 'bc.ts': 5 });
});

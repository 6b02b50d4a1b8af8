// What is found in a tool's sources before anything is built.
import assert from 'node:assert';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { handlersOf } from '../build/handlers.mjs';
import { build, sources } from './toolhost.mjs';

async function check(text, files) {
  const folder = await sources(text, files);
  const out = path.join(folder, 'tool.wasm');
  const answer = await build(path.join(folder, 'index.ts'), out, '--check');
  assert.strictEqual(existsSync(out), false);
  return answer;
}

test('a check finds errors without building', async () => {
  for (const [text, says] of [
    ['export const handlers = {\n  a: () => }\n', /Unexpected "}"/],
    ['import x from "left-pad";\nexport const handlers = { a: x };', /left-pad/],
    ['export const handler = {};', /no `handlers`; it exports `handler`/],
  ]) {
    const { ok, code, kind, errors } = await check(text);
    assert.deepStrictEqual([ok, code, kind], [false, 1, 'source']);
    assert.match(errors[0].text, says);
  }
});

test('a check returns the names of handlers that are written out', async () => {
  const a = 'const a = () => 1;\n';
  const names = async (text, files) => (await check(a + text, files)).handlers;
  assert.deepStrictEqual(await names('export const handlers = { a, "b-c": () => 2, async d() {} };'), ['a', 'b-c', 'd']);
  assert.deepStrictEqual(await names('const all = { a } satisfies object;\nexport { all as handlers };'), ['a']);
  const module = { 'more.ts': 'export const handlers = { x: () => 1 };\n' };
  assert.deepStrictEqual(await names('export { handlers } from "./more";', module), ['x']);
  // A name that no manifest can export is left out by the build.
  assert.deepStrictEqual(await names('export const handlers = { a, downloadFile: a };'), ['a']);
});

test('handlers that only running the module tells are unknown', () => {
  for (const text of [
    'var handlers = { a, ...more }; export { handlers };',
    'var handlers = { [name]: a }; export { handlers };',
    'var handlers = make(); export { handlers };',
    'var handlers = { a }; handlers.b = a; export { handlers };',
    'var handlers = { a }; extend(handlers); export { handlers };',
    'var handlers = { Bad__Name: a }; export { handlers };',
    'export {};',
    'not JavaScript',
  ]) {
    assert.strictEqual(handlersOf(text), undefined, text);
  }
});

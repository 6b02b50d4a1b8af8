// What is found in a tool's sources before anything is built.
import assert from 'node:assert';
import { existsSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { handlersOf } from '../build/handlers.mjs';
import { build, lay, sources } from './toolhost.mjs';

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

test('data outside the folder of the bundle does not get into a component', async () => {
  const outside = await sources('', { 'key.json': '"secret"', 'key.txt': 'secret', id_rsa: 'secret', 'code.js': 'export default "code"' });
  const up = path.join(outside, 'up');
  const packages = { [`${up}/node_modules/pkg/index.js`]: 'export { default } from "./data.json"', [`${up}/node_modules/pkg/data.json`]: '"packed"' };
  const at = async (text, files = {}) => {
    const entry = path.join(up, 'bundle/src/index.ts');
    await lay({ [entry]: `${text}\nexport const handlers = { a: () => x };`, ...files, ...packages });
    return build(entry, path.join(outside, 'tool.wasm'), '--check', '--root', path.join(up, 'bundle'));
  };
  const absolute = (name) => JSON.stringify(path.join(outside, name));
  await mkdir(path.join(up, 'bundle/src'), { recursive: true });
  await symlink(path.join(outside, 'key.txt'), path.join(up, 'bundle/src/link.txt'));
  for (const statement of [
    `import x from ${absolute('key.json')};`,
    'import x from "../../../key.txt";',
    'import x from "../../../id_rsa" with { type: "text" };',
    'import x from "../../../code.js" with { type: "text" };',
    'import x from "../../../key.txt?x.ts";',
    'import x from "./link.txt";',
    'import x from "pkg/../../../key.txt";',
    'const x = require("../../../key.json");',
    `const x = import("../../../" + "key.json");`,
    'const n = 1, x = import(`../../../key${n}.json`.replace("1", ""));\nimport "../../../key.json";',
  ]) {
    const { ok, kind, errors } = await at(statement);
    assert.deepStrictEqual([ok, kind], [false, 'source'], statement);
    assert.match(errors[0].text, /outside the folder of the bundle/, statement);
  }
  // Code may lie anywhere, packages are the author's, and the folder of the bundle is larger than that of the entry.
  const inside = { [path.join(up, 'bundle/data.json')]: '"inside"' };
  for (const statement of ['import x from "../../../code";', 'import x from "pkg";', 'import x from "pkg/data.json";', 'import x from "../data.json";']) {
    const { ok, errors } = await at(statement, inside);
    assert.ok(ok, `${statement} ${JSON.stringify(errors)}`);
  }
});

test('a tsconfig.json has no effect', async () => {
  const settings = JSON.stringify({ extends: '../outside.json', compilerOptions: { paths: { x: ['../key.json'] }, jsxFactory: 'evil' } });
  for (const name of ['tsconfig.json', 'jsconfig.json']) {
    const { errors } = await check('import x from "x";\nexport const handlers = { a: () => x };', { [name]: settings });
    assert.match(errors[0].text, /Could not resolve "x"/);
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

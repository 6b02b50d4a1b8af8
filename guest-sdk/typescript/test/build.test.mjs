// What an author is told when a module cannot become a tool.
import assert from 'node:assert';
import { readFile, readdir, utimes } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { bundle } from '../build/bundle.mjs';
import { withOwnTable } from '../build/own-table.mjs';
import { compileTypes } from '../build/types/index.mjs';
import { ComponentSection, Kind, Section, importsOf, sectionsOf } from '../build/wasm.mjs';
import { SDK, WIT, buildText, lay, run, sources, temporary } from './toolhost.mjs';

const HANDLERS = 'export const handlers = { a: () => 1 };\n';

/** Checks the first error of a build of `text`. */
async function refuses(text, { at, says, next, files }) {
  const { ok, code, kind, errors } = await buildText(text, files);
  assert.deepStrictEqual([ok, code, kind], [false, 1, 'source'], JSON.stringify(errors));
  const [{ file, line, column, text: said, suggestion }] = errors;
  assert.match(said, says);
  if (at) assert.strictEqual(`${file}:${line}:${column}`, at);
  assert.match(suggestion ?? '', next ?? /./);
}

test('a mistake in the source is said with its place', async () => {
  const { errors } = await buildText('export const handlers = {\n  a: () => }\n');
  assert.deepStrictEqual([errors[0].file, errors[0].line, errors[0].column], ['index.ts', 2, 12]);
  assert.match(errors[0].text, /Unexpected "}"/);
});

test('what is not there is said with what to do', async () => {
  await refuses('export const handler = {};', { says: /no `handlers`; it exports `handler`/, next: /export const handlers/ });
  await refuses(`import x from 'left-pad';\n${HANDLERS}x();`, { at: 'index.ts:1:15', says: /left-pad/, next: /npm install left-pad/ });
  await refuses(`import x from './gone';\n${HANDLERS}x();`, { says: /gone/, next: /path/ });
  await refuses(`${HANDLERS}await Promise.resolve();`, { at: 'index.ts:2:1', says: /[Tt]op-level await/, next: /handler/ });
});

test('a module of Node that does not exist here is named, with what there is instead', async () => {
  await refuses(`import { Script } from 'node:vm';\n${HANDLERS}Script;`, {
    at: 'index.ts:1:24',
    says: /"node:vm" does not exist in the sandbox/,
    next: /in the module/,
  });
  await refuses(`import db from 'bun:sqlite';\n${HANDLERS}db;`, { says: /"bun:sqlite"/, next: /files/ });
  await refuses(`import x from 'node:repl';\n${HANDLERS}x;`, { says: /"node:repl"/, next: /fs\/promises/ });
});

test('top-level code that fails is said with its place', async () => {
  await refuses(`import './deep/b';\n${HANDLERS}`, {
    files: { 'deep/b.ts': 'function f() {\n  throw new Error("broken");\n}\nf();\n' },
    at: 'deep/b.ts:2:13',
    says: /^broken$/,
    next: /top-level code runs while the tool is built/,
  });
  await refuses(`import { readFileSync } from 'fs';\nexport const x = readFileSync('a');\n${HANDLERS}`, {
    says: /the file system is used at the top level/,
  });
  await refuses('export const handlers = { "Bad__Name": () => 1 };', { says: /`Bad__Name`: a name is lower-case/ });
  await refuses(`${HANDLERS}export const exports = [{ name: "b" }];`, { says: /`exports` describes `b`/ });
});

test('a name that a module has not is said with the nearest one', async () => {
  const text = `import { toool } from 'toolhost';\nimport type { ToolContex } from 'toolhost';\nexport const handlers = { a: toool({}) as ToolContex };`;
  await refuses(text, { at: 'index.ts:1:10', says: /`toolhost` has no `toool`/, next: /did you mean `tool`/ });
  const { errors } = await buildText(text);
  assert.deepStrictEqual([errors[1].line, errors[1].suggestion], [2, 'did you mean `ToolContext`?']);
  const { warnings } = await buildText("import { opne, readFile, type Stats } from 'node:fs/promises';\nexport const handlers = { a: () => [opne, readFile] };");
  const [{ text: said, line, suggestion }, ...others] = warnings;
  assert.match(said, /`node:fs\/promises` has no `opne`/);
  assert.deepStrictEqual([line, suggestion, others], [1, 'did you mean `open`?', []]);
});

test('a schema that is none is said with its place', async () => {
  const standard = "const text = { '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }), jsonSchema: { input: () => { throw new Error('a symbol'); } } } };";
  const head = `import { tool } from 'toolhost';\n${standard}\nexport const handlers = {\n`;
  await refuses(`${head}  a: tool({ input: { text }, run: async () => 1 }),\n};`, { says: /`input` of tool\(\) is an object of schemas \(`text`/, at: 'index.ts:4:6', next: /z\.object\(\{ text/ });
  const { exports } = await buildText(`${head}  a: tool({ input: text, run: async () => 1 }),\n};`);
  const [{ problem }] = exports;
  assert.match(problem.text, /a schema cannot be JSON Schema: a symbol/);
  assert.deepStrictEqual([problem.file, problem.line], ['index.ts', 4]);
});

test('an error about what a module exports has no hint about top-level code', async () => {
  const { errors } = await buildText('export const handlers = {};');
  assert.match(errors[0].text, /`handlers` is empty/);
  assert.strictEqual(errors[0].suggestion, 'correct what the module exports');
});

test('an exported function with the context of a call that is no handler is noted', async () => {
  const { warnings } = await buildText(`import type { ToolContext } from 'toolhost';
    export async function listed(ctx: ToolContext) {}
    export async function forgotten(ctx: ToolContext, input: { n: number }) {}
    export const helper = (text: string) => text;
    export const handlers = { listed, inline: async (ctx: ToolContext) => 1 };`);
  assert.deepStrictEqual(warnings.map(({ text, line }) => [text.split(' ')[0], line]), [['`forgotten`', 3]]);
});

test('the records of types that are kept are few', async () => {
  const work = await temporary();
  await lay(Object.fromEntries(Array.from({ length: 105 }, (_, index) => [`types-${index}.json`, '{}'])), work);
  await utimes(path.join(work, 'types-7.json'), 1, 1);
  const folder = await sources(HANDLERS);
  const { finish } = compileTypes(path.join(folder, 'index.ts'), work, path.join(work, 'types-new.json'));
  finish();
  const names = (await readdir(work)).filter((name) => name.startsWith('types-'));
  assert.deepStrictEqual([names.length, names.includes('types-new.json'), names.includes('types-7.json')], [100, true, false]);
});

test('a handler whose name cannot be exported is left out with a note', async () => {
  const text = 'const shared = { downloadFile: () => 1, "a__b": () => 2 };\nexport const handlers = { ...shared, a: () => 3 };\n';
  const folder = await sources(text);
  const args = ['--entry', path.join(folder, 'index.ts'), '--out', path.join(folder, 'tool.wasm'), '--wit', WIT];
  const { code, stderr } = await run(process.execPath, [path.join(SDK, 'build.mjs'), ...args]);
  assert.strictEqual(code, 0, stderr);
  assert.match(stderr, /index\.ts: warning: the handler `downloadFile` is left out: a name is lower-case/);
  assert.match(stderr, /the handler `a__b` is left out/);
  const { ok, warnings } = await buildText(text);
  assert.deepStrictEqual([ok, warnings.length], [true, 2]);
});

test('the command line is checked', async () => {
  const call = (...args) => run(process.execPath, [path.join(SDK, 'build.mjs'), ...args]);
  const usage = await call('--entry', 'nope.ts', '--out', 'x.wasm', '--wit', WIT);
  assert.strictEqual(usage.code, 2);
  assert.match(usage.stderr, /nope\.ts does not exist/);
  assert.strictEqual((await call('--help')).code, 0);
  assert.strictEqual((await call('--what')).code, 2);
});

// The componentizer puts a random seed into what it makes, so components differ in some bytes.
test('the same sources make the same bundle, wherever they are', async () => {
  const text = `import { join } from 'node:path';\nimport { dep } from 'dep';\nexport const handlers = { a: async () => join(dep, 'x') };\n`;
  const files = {
    'node_modules/dep/package.json': '{"name":"dep","version":"1.0.0","main":"index.js"}',
    'node_modules/dep/index.js': 'exports.dep = "dep";',
  };
  const bundled = async () => bundle({ entry: path.join(await sources(text, files), 'index.ts'), wit: WIT });
  const [one, two] = [await bundled(), await bundled()];
  assert.notDeepStrictEqual(one.inputs, two.inputs);
  assert.strictEqual(one.code, two.code);
  assert.deepStrictEqual(one.inputs.map((input) => path.basename(input)).sort(), ['index.js', 'index.ts']);
});

test('a tool that uses fetch says so', async () => {
  const entry = path.join(await sources(`export const handlers = { a: () => fetch('https://example.com') };`), 'index.ts');
  const { engine, features } = await bundle({ entry, wit: WIT });
  assert.deepStrictEqual([engine, features.fetch], ['qjs', true]);
  assert.strictEqual((await bundle({ entry, engine: 'starlingmonkey' })).engine, 'starlingmonkey');
  await lay({ 'package.json': '{"toolhost":{"engine":"starlingmonkey"}}' }, path.dirname(entry));
  assert.strictEqual((await bundle({ entry })).engine, 'starlingmonkey');
  await lay({ 'package.json': '{"toolhost":{"engine":"v8"}}' }, path.dirname(entry));
  await assert.rejects(bundle({ entry }), /the engine `v8` does not exist/);
});

test('arguments where the context belongs are a problem of the handler', async () => {
  const text = `export const handlers = {
    a: async ({ name }: { name: string }) => name,
    b: async (ctx: { logger: Console }, input: { name: string }) => input.name,
    c: async (ctx: unknown) => 1,
  };`;
  const { exports } = await buildText(text);
  const [first, ...others] = exports;
  assert.match(first.problem.text, /the first parameter of a handler is its context/);
  assert.strictEqual(first.problem.line, 2);
  assert.deepStrictEqual(others.map(({ problem }) => problem), [undefined, undefined]);
});

test('an import whose name is computed brings no file into a component', async () => {
  const folder = await sources('', { 'key.json': '"from outside"' });
  const file = JSON.stringify(path.join(folder, 'key.json'));
  const text = `const enum E { A = ${file} }
    const name = ${file};
    export const handlers = { a: () => import(E.A), b: () => require(E.A), c: () => import(name), d: () => import('node:path') };`;
  await lay({ 'bundle/index.ts': text }, folder);
  for (const engine of ['qjs', 'starlingmonkey']) {
    const { code, inputs } = await bundle({ entry: path.join(folder, 'bundle/index.ts'), wit: WIT, engine });
    assert.strictEqual(code.includes('from outside'), false);
    assert.deepStrictEqual(inputs, [path.join(folder, 'bundle/index.ts')]);
  }
});

test('the module of QuickJS has its functions in a table of its own', async () => {
  const { out } = await buildText(HANDLERS);
  const component = await readFile(out);
  const within = (bytes, id) => sectionsOf(bytes).filter((section) => section.id === id).map(({ body }) => body);
  const [linked] = within(component, ComponentSection.Component);
  const bySize = within(linked, ComponentSection.Module).filter((module) => within(module, Section.Element).length > 0).sort((a, b) => b.length - a.length);
  const [quickjs] = bySize;
  assert.strictEqual(importsOf(within(quickjs, Section.Import)[0]).filter(({ kind }) => kind === Kind.Table).length, 0);
  assert.strictEqual(within(quickjs, Section.Table).length, 1);
  assert.strictEqual(withOwnTable(component), component);
});

test('async functions run without a promise for each step', async () => {
  const folder = await sources('const wait = async () => { await null; };\nexport const handlers = { a: async () => { await wait(); } };\n');
  const { code } = await bundle({ entry: path.join(folder, 'index.ts'), wit: WIT });
  assert.deepStrictEqual([...code.matchAll(/\b__async\d*=(\S{16})/g)].map(([, value]) => value), ['runAsyncFunction', 'runAsyncFunction']);
});

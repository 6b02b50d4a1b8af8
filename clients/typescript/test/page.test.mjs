// The snippets of the page are checked by the compiler and run; `dist` is what the compiler makes of `src`.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { Toolhost } from 'toolhost-client';

import { bundle, directory, program, repository } from './support.mjs';

const client = fileURLToPath(new URL('../', import.meta.url));
const compiler = join(client, 'node_modules/typescript/bin/tsc');

/** Runs the compiler. It prints errors on stdout. */
function tsc(...args) {
  const done = spawnSync(process.execPath, [compiler, ...args], { cwd: client, encoding: 'utf8' });
  assert.equal(done.status, 0, done.stdout + done.stderr);
}

test('dist is what the compiler makes of src', async () => {
  const made = await directory();
  tsc('--outDir', made);
  const files = (dir) => readdirSync(dir).sort().map((name) => [name, readFileSync(join(dir, name), 'utf8')]);
  assert.deepEqual(files(join(client, 'dist')), files(made), 'run `npm run build`');
});

test('the snippets of the page have no type errors, and the agent loop runs', async () => {
  const page = readFileSync(join(repository, 'docs/clients/typescript.md'), 'utf8');
  const snippets = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, text]) => text);
  assert.equal(snippets.length, 2);
  const dir = await directory();
  mkdirSync(join(dir, 'node_modules'));
  symlinkSync(client, join(dir, 'node_modules/toolhost-client'));
  symlinkSync(join(client, 'node_modules/@types'), join(dir, 'node_modules/@types'));
  writeFileSync(join(dir, 'package.json'), '{"type": "module"}');
  snippets.forEach((text, number) => writeFileSync(join(dir, `snippet${number}.ts`), text));
  const files = snippets.map((_, number) => join(dir, `snippet${number}.ts`));
  const config = { extends: join(client, 'tsconfig.json'), compilerOptions: { rootDir: dir, outDir: dir, declaration: false }, include: [], files };
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify(config));
  tsc('--project', dir);

  const { answer } = await import(pathToFileURL(join(dir, 'snippet0.js')));
  const { run } = await import(pathToFileURL(join(dir, 'snippet1.js')));
  assert.equal(typeof run, 'function');
  const call = (id, text) => ({ id, type: 'function', function: { name: 'text__upper', arguments: JSON.stringify({ text }) } });
  const asked = [];
  const model = async (messages, tools) => {
    asked.push(tools[0].function.name);
    const results = messages.filter((message) => message.role === 'tool').map(({ content }) => JSON.parse(content));
    if (results.length === 0) return { role: 'assistant', content: null, tool_calls: [call('a', 'one'), call('b', 'two')] };
    return { role: 'assistant', content: results.map((result) => result.text).join(' ') };
  };
  const host = Toolhost.spawn({ program, bundle: await bundle(), stateRoot: await directory(), stderr: 'ignore' });
  try {
    assert.equal(await answer(host, model, 'What is upper case?'), 'ONE TWO');
  } finally {
    await host.close();
  }
  assert.deepEqual(asked, ['text__upper', 'text__upper']);
});

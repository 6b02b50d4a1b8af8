// Tools as properties of an object, over a host that is a function.
import assert from 'node:assert';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { SDK, temporary } from './toolhost.mjs';

let kit;
before(async () => {
  const esbuild = createRequire(path.join(SDK, 'build/package.json'))('esbuild');
  const contents = "export * from './tool-names'; export { ToolError } from './tool-error';";
  const { outputFiles } = await esbuild.build({ stdin: { contents, resolveDir: path.join(SDK, 'runtime') }, bundle: true, platform: 'node', format: 'esm', write: false, nodePaths: [path.join(SDK, 'build/node_modules')] });
  const file = path.join(await temporary(), 'tool-names.mjs');
  await writeFile(file, outputFiles[0].text);
  kit = await import(pathToFileURL(file));
});

/** Returns `tools`, and the calls that it makes. */
function toolsOf(...listed) {
  const calls = [];
  const call = async (name, args) => {
    calls.push([name, args]);
    if (listed.includes(name)) return 'done';
    throw names.unknown(name, new kit.ToolError({ message: 'none', code: 'E_TOOL_NOT_IN_CATALOG', suggestion: "Did you mean 'a-b__read'? x" }, name));
  };
  const names = new kit.ToolNames({ names: () => listed, call });
  return { calls, tools: kit.toolsObject({ search: () => [] }, names) };
}

test('a name that is not among the names is a call of its alias, for the host to say what it is', async () => {
  const { calls, tools } = toolsOf('a-b__read', 'c__d-e');
  for (const act of [() => tools.a_b.write({ n: 1 }), () => tools.other.write({ n: 2 }), () => tools.read_file({ n: 3 }), () => tools['x-y'].z({ n: 4 })]) {
    await assert.rejects(async () => act(), { code: 'E_TOOL_NOT_IN_CATALOG' });
  }
  assert.deepStrictEqual(calls, [['a_b__write', { n: 1 }], ['other__write', { n: 2 }], ['read_file', { n: 3 }], ['x_y__z', { n: 4 }]]);
});

test('the error of a name that no tool has says how it was written, the nearest and which there are', async () => {
  const { tools } = toolsOf('a-b__read', 'c__d-e');
  const suggestion = "Did you mean 'a-b__read'? the tools are a-b__read, c__d-e";
  await assert.rejects(tools.a_b.reed(), { message: 'there is no tool tools.a_b.reed', suggestion });
  await assert.rejects(tools.read(), { message: 'there is no tool tools["read"]', suggestion });
  await assert.rejects(tools['a__x'](), { message: 'there is no tool tools["a__x"]', suggestion });
});

test('only the tools that may be called are listed, and what libraries look for is absent', async () => {
  const { calls, tools } = toolsOf('a-b__read', 'c__d-e');
  assert.strictEqual(await tools.a_b.read(), 'done');
  assert.strictEqual(await tools.c.d_e({}), 'done');
  assert.deepStrictEqual([Object.keys(tools), Object.keys(tools.a_b), Object.keys(tools.other), 'other' in tools, 'write' in tools.a_b], [['a-b__read', 'c__d-e'], ['read'], [], false, false]);
  for (const key of ['then', 'constructor', '__proto__', 'toString', 'toJSON', 'prototype', Symbol.iterator]) {
    assert.deepStrictEqual([tools[key], tools.a_b[key], tools.other[key]], [undefined, undefined, undefined], String(key));
  }
  assert.throws(() => tools.a_b(), TypeError);
  assert.throws(() => {
    tools.other.x = 1;
  }, TypeError);
  assert.strictEqual(calls.length, 2);
});

// Handlers do in a tool what they do in Node.
import assert from 'node:assert';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ENGINES, Tool, fixture, temporary } from './toolhost.mjs';

const { build } = createRequire(new URL('../build/package.json', import.meta.url))('esbuild');

/** Returns the handlers of a fixture, for Node. */
async function inNode(name) {
  const { outputFiles } = await build({ entryPoints: [fixture(name)], bundle: true, platform: 'node', format: 'esm', write: false, target: 'node20' });
  const file = path.join(await temporary(), 'fixture.mjs');
  await writeFile(file, outputFiles[0].text);
  return (await import(pathToFileURL(file))).handlers;
}

/** What StarlingMonkey does not have: it throws an `InternalError`, its async functions cannot be followed, and it has no classes of characters. */
const NOT_THERE = { qjs: [], starlingmonkey: ['recursion', 'contexts', 'intl'] };

const handlers = await inNode('node.ts');

for (const [engine, needs] of ENGINES) {
  describe(`as in Node: ${engine}`, needs, () => {
    let tool;
    before(async () => {
      tool = await Tool.of(fixture('node.ts'), Object.keys(handlers), '--engine', engine);
    });
    for (const name of Object.keys(handlers).filter((each) => !NOT_THERE[engine].includes(each))) {
      test(name, async () => {
        const expected = JSON.parse(JSON.stringify((await handlers[name]()) ?? null));
        assert.deepStrictEqual(await tool.output(name), expected);
      });
    }
  });
}

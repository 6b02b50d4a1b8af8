// Handlers do in a tool what they do in Node.
import assert from 'node:assert';
import { before, describe, test } from 'node:test';
import { ENGINES, Tool, fixture, inNode } from './toolhost.mjs';

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

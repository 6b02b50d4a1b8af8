// Parts of the runtime that need no sandbox, in Node.
import assert from 'node:assert';
import { constants as nodeConstants } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { SDK, temporary } from './toolhost.mjs';

const require = createRequire(new URL('../build/package.json', import.meta.url));

/** Stands for the host: a clock that jumps to whatever is waited for, and a log. */
const HOST = `
let time = 0n;
export const records = [];
export const now = () => time;
export const subscribeDuration = (wait) => ({ block() { time += BigInt(wait); } });
export const getRandomBytes = (length) => new Uint8Array(length).map(() => Math.floor(randomByte() * 256));
const randomByte = Math.random;
export const getEnvironment = () => [];
export const getDirectories = () => [];
export const log = (level, context, message) => records.push([level, message]);
`;

const EXPORTS = `
export * from './engine/qjs/promise';
export { settle } from './engine/qjs/settle';
export * as timers from './engine/timers';
export { clearQueue, drain, takeRejection } from './engine/qjs/queue';
export * from './engine/qjs/text';
export * from './format';
export { toToolError } from './failure';
export { toOutcome } from './output';
export { describeModule } from './module';
export { console as logConsole } from './console';
export { realpathSync } from './fs/tree';
export { constants } from './fs/constants';
export { default as fsOfNode } from './node/fs';
export * as promisesOfFs from './node/fs-promises';
export { SystemError } from './fs/errors';
export { beneath, pathText } from './fs/root';
export { pending } from '../package/index.js';
export { evaluateAtBuild } from './snapshot';
export { records } from 'wasi:logging/logging';
`;

let runtime;
before(async () => {
  const { build } = await import(pathToFileURL(require.resolve('esbuild')));
  const folder = await temporary();
  const outfile = path.join(folder, 'runtime.mjs');
  const host = path.join(folder, 'host.mjs');
  await writeFile(host, HOST);
  await build({
    stdin: { contents: EXPORTS, resolveDir: path.join(SDK, 'runtime'), loader: 'ts' },
    bundle: true,
    outfile,
    format: 'esm',
    platform: 'browser',
    nodePaths: [path.join(SDK, 'build/node_modules')],
    plugins: [
      {
        name: 'host',
        setup(builder) {
          builder.onResolve({ filter: /^wasi:/ }, () => ({ path: host }));
          builder.onResolve({ filter: /^toolhost:engine$/ }, () => ({ path: path.join(SDK, 'runtime/engine/qjs/index.ts') }));
        },
      },
    ],
  });
  Uint8Array.fromBase64 ??= (text) => new Uint8Array(Buffer.from(text, 'base64'));
  runtime = await import(pathToFileURL(outfile));
  // What follows is a call.
  runtime.evaluateAtBuild(() => {});
  await rm(folder, { recursive: true });
});

describe('Promise', () => {
  test('keeps Promises/A+', { timeout: 600_000 }, async () => {
    const { QueuedPromise, drain } = runtime;
    // The suite waits with Node's own timers: what is queued runs before and after each of them.
    const system = globalThis.setTimeout;
    globalThis.setTimeout = (act, ms, ...args) =>
      system(() => {
        drain();
        act(...args);
        drain();
      }, ms);
    const pump = setInterval(drain, 0);
    const adapter = {
      resolved: (value) => QueuedPromise.resolve(value),
      rejected: (reason) => QueuedPromise.reject(reason),
      deferred: () => QueuedPromise.withResolvers(),
    };
    const suite = require('promises-aplus-tests');
    const error = await new Promise((resolve) => suite(adapter, { reporter: 'dot', timeout: 60_000 }, resolve));
    clearInterval(pump);
    globalThis.setTimeout = system;
    runtime.clearQueue();
    assert.ifError(error);
  });

  test('async functions take their turns as those of the engine do', async () => {
    const { QueuedPromise, drain, runAsyncFunction } = runtime;
    const ofNode = async (start) => {
      const steps = start();
      let step = steps.next();
      while (!step.done) {
        let value;
        try {
          value = await step.value;
        } catch (error) {
          step = steps.throw(error);
          continue;
        }
        step = steps.next(value);
      }
      return step.value;
    };
    const program = (Promises, run, seen) => {
      const note = (name) => (value) => seen.push(`${name}: ${String(value)}`);
      const counted = (name, values) => run(function* () {
        for (const value of values) {
          try {
            note(name)(yield value);
          } catch (error) {
            note(`${name} caught`)(error);
          }
        }
        return name;
      });
      const thenable = { then: (settle) => settle('from then') };
      counted('plain', [1, null, 'text', () => 2]).then(note('end of plain'));
      counted('promises', [Promises.resolve(1), Promises.reject('no'), thenable, { then: 3 }]).then(note('end of promises'));
      run(function* () {
        return Promises.resolve('adopted');
      }).then(note('end of adopted'));
      run(function* () {
        yield 0;
        throw 'thrown';
      }).then(note('never'), note('failed'));
      Promises.resolve().then(note('1')).then(note('2')).then(note('3')).then(note('4')).then(note('5'));
    };
    const [ours, expected] = [[], []];
    program(Promise, ofNode, expected);
    await new Promise((resolve) => setImmediate(resolve));
    program(QueuedPromise, (start) => runAsyncFunction(undefined, [], start), ours);
    drain();
    assert.strictEqual(expected.length, 17);
    assert.deepStrictEqual(ours, expected);
  });

  test('tells of rejections that nobody handles', () => {
    const { QueuedPromise, clearQueue, drain, takeRejection } = runtime;
    const handled = QueuedPromise.reject(new Error('handled'));
    handled.catch(() => {});
    drain();
    assert.strictEqual(takeRejection(), undefined);
    const promise = QueuedPromise.reject('lost').finally(() => {});
    drain();
    assert.deepStrictEqual(takeRejection(), { promise, reason: 'lost' });
    assert.strictEqual(takeRejection(), undefined);
    clearQueue();
  });
});

test('settle waits for timers in the order they are due', () => {
  const { settle, timers, QueuedPromise } = runtime;
  const seen = [];
  const result = settle(() => {
    timers.setTimeout(() => seen.push('b'), 20);
    timers.setTimeout(() => seen.push('a'), 10);
    return new QueuedPromise((resolve) => timers.setTimeout(resolve, 30, 'end'));
  });
  assert.deepStrictEqual([result, seen], ['end', ['a', 'b']]);
  assert.throws(() => settle(() => new QueuedPromise(() => {})), { code: 'NEVER_SETTLED' });
  assert.throws(() => settle(() => { throw new TypeError('at once'); }), { message: 'at once' });
});

test('UTF-8 is decoded as the Encoding Standard says', () => {
  const { TextDecoder: Ours, decodeUtf8, encodeUtf8 } = runtime;
  const pieces = [[0x61], [0xc3, 0xa9], [0xe2, 0x82, 0xac], [0xf0, 0x9f, 0x98, 0x80], [0xff], [0xc3], [0xe2, 0x82], [0xf0, 0x9f], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf4, 0x90, 0x80, 0x80]];
  let seed = 1;
  const random = (below) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  for (let round = 0; round < 2000; round += 1) {
    const bytes = Uint8Array.from(Array.from({ length: random(6) }, () => pieces[random(pieces.length)]).flat());
    const expected = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    assert.strictEqual(decodeUtf8(bytes), expected, bytes.join());
    const cut = random(bytes.length + 1);
    const streamed = new Ours();
    const text = streamed.decode(bytes.subarray(0, cut), { stream: true }) + streamed.decode(bytes.subarray(cut));
    assert.strictEqual(text, expected, `${bytes.join()} cut at ${cut}`);
  }
  assert.deepStrictEqual([...encodeUtf8('aé€😀\ud800')], [...new TextEncoder().encode('aé€😀\ud800')]);
  assert.throws(() => decodeUtf8(new Uint8Array([0xff]), true), TypeError);
});

test('format is that of Node, bounded', () => {
  const { format } = runtime;
  const cases = [['a %s b', 'x'], ['%d%%', 5], ['%j', { a: 1 }], ['%s'], ['a', 1, { b: [1, 'c'] }], [{ a: null }, undefined], ['%i', '7.5'], ['%c!', 'css']];
  const { format: node } = require('node:util');
  for (const args of cases) assert.strictEqual(format(...args), node(...args));
  assert.ok(format({ text: 'x'.repeat(1e6) }).length < 10_000);
  const cycle = {};
  cycle.self = cycle;
  assert.match(format(cycle), /Circular/);
});

test('the logger writes records with a level', () => {
  const { logConsole, records } = runtime;
  logConsole.group('g');
  logConsole.warn('%s!', 'w');
  logConsole.groupEnd();
  logConsole.assert(false, 'no');
  logConsole.error('x'.repeat(1e6));
  assert.deepStrictEqual(records.slice(0, 3), [['info', 'g'], ['warn', '  w!'], ['error', 'Assertion failed: no']]);
  assert.ok(records[3][1].length <= 4096);
});

test('paths stay as they are but for the leading slash', () => {
  const { beneath, pathText } = runtime;
  const cases = { '/': '.', '': '', 'a/b': 'a/b', '/a': 'a', '//a': 'a', '../x': '../x', '/../x': '../x' };
  for (const [path, expected] of Object.entries(cases)) assert.strictEqual(beneath(path), expected);
  assert.strictEqual(pathText(new URL('file:///a%20b')), '/a b');
  assert.throws(() => pathText('a\0b'), { code: 'ERR_INVALID_ARG_VALUE' });
});

test('errors of files are those of Node', async () => {
  const { SystemError } = runtime;
  const { readFileSync } = await import('node:fs');
  const fields = ({ message, code, errno, syscall, path }) => ({ message, code, errno, syscall, path });
  let theirs;
  try {
    readFileSync('/nope');
  } catch (error) {
    theirs = error;
  }
  assert.deepStrictEqual(fields(new SystemError('no-entry', 'open', '/nope')), fields(theirs));
});

test('outcomes are JSON or pending', () => {
  const { pending, toOutcome } = runtime;
  assert.deepStrictEqual(toOutcome(undefined), { tag: 'output', val: 'null' });
  assert.deepStrictEqual(toOutcome({ a: 1 }), { tag: 'output', val: '{"a":1}' });
  assert.deepStrictEqual(toOutcome(pending('h')), { tag: 'pending', val: 'h' });
  assert.deepStrictEqual(toOutcome(['😀'.slice(0, 1), '\\ud800', '😀']), { tag: 'output', val: '["\ufffd","\\\\ud800","😀"]' });
  assert.throws(() => toOutcome([[1n]]), { message: /output\[0\]\[0\] is a BigInt/ });
  assert.throws(() => pending(''), TypeError);
});

test('a module is checked before it is a tool', () => {
  const { describeModule } = runtime;
  const handlers = { a: () => 1, 'b-c_d': () => 2 };
  const exports = [{ name: 'a', description: 'A', parameters: { type: 'object' } }];
  assert.deepStrictEqual(describeModule({ handlers, exports }).described, [
    { name: 'a', description: 'A', parameters: { type: 'object' } },
    { name: 'b-c_d' },
  ]);
  for (const name of ['A', 'a__b', '_a', 'a b', '']) assert.throws(() => describeModule({ handlers: { [name]: () => 1 } }), /a name is/, name);
  for (const wrong of [{}, { handlers: {} }, { handlers: { a: 1 } }, { handlers, exports: {} }, { handlers, exports: [{ name: 'x' }] }, { handlers, polling: {} }]) {
    assert.throws(() => describeModule(wrong), TypeError);
  }
});

test('handlers that no manifest can export are left out and reported', () => {
  const { describeModule } = runtime;
  const names = ['downloadFile', 'a__b', 'naïve "x"\n]', '\ud800', '__proto__2'];
  const handlers = { ok: () => 1, ...Object.fromEntries(names.map((name) => [name, () => 2])) };
  const exports = [{ name: 'downloadFile', description: 'left out with its handler' }];
  const { described, leftOut } = describeModule({ handlers, exports });
  assert.deepStrictEqual(leftOut, names);
  assert.deepStrictEqual(described, [{ name: 'ok' }]);
});

test('fs has the constants of Node on Linux', () => {
  const { constants, promisesOfFs, fsOfNode } = runtime;
  const ofNode = Object.entries(nodeConstants).filter(([name]) => /^([FRWX]_OK|COPYFILE_\w+|O_(?!SYMLINK)\w+)$/.test(name));
  for (const [name, value] of Object.entries(constants)) assert.strictEqual(value, Object.fromEntries(ofNode)[name], name);
  for (const name of ['F_OK', 'R_OK', 'W_OK', 'X_OK', 'COPYFILE_EXCL', 'O_RDONLY', 'O_WRONLY', 'O_RDWR', 'O_CREAT', 'O_EXCL', 'O_TRUNC', 'O_APPEND']) {
    assert.ok(name in constants, name);
  }
  for (const module of [fsOfNode, fsOfNode.promises, promisesOfFs]) assert.strictEqual(module.constants, constants);
});

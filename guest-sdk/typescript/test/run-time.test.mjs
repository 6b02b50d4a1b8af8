// What a module may rely on at run time, through the host.
import assert from 'node:assert';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { ENGINES, Tool, fixture, temporary } from './toolhost.mjs';

const HANDLERS = [
  'context', 'log', 'throws', 'returns', 'never', 'unhandled', 'uncaught', 'left', 'timers', 'promises', 'random', 'time',
  'bun', 'files', 'access', 'failures', 'escape', 'big', 'values', 'refused', 'imported',
];

const READ_ONLY = 'tools:\n  t: { readOnly: true }\n';

for (const [engine, needs] of ENGINES) {
  describe(`on ${engine}`, needs, () => {
    let tool;
    before(async () => {
      tool = await Tool.of(fixture('all.ts'), HANDLERS, '--engine', engine);
    });

    // tool-spec-v2 §7.3
    test('a handler is given its context', async () => {
      const context = await tool.output('context');
      assert.strictEqual(context.workdir, '/');
      for (const key of ['agentName', 'instanceKey', 'turnId', 'toolCallId']) assert.ok(context[key], key);
      assert.strictEqual(context.message, 'object');
      assert.strictEqual(context.logger, true);
      assert.strictEqual(context.frozen, true);
    });

    test('a module that the runtime serves is imported late, and no other one', async () => {
      assert.deepStrictEqual(await tool.output('imported', { name: '/etc/passwd' }), ['a/b', 'MODULE_NOT_FOUND']);
    });

    test('the state of a module is fresh for each call', async () => {
      assert.strictEqual((await tool.output('context')).calls, 1);
      assert.strictEqual((await tool.output('context')).calls, 1);
    });

    test('logger and console reach the log of the host, cut', async () => {
      const result = await tool.call('log');
      assert.strictEqual(result.output, null);
      assert.match(result.log, /warned of this \{ a: \[ 1, /);
      assert.match(result.log, /RangeError: logged/);
      assert.ok(result.log.length < 100_000);
    });

    test('what is thrown becomes the error of the result', async () => {
      const cases = {
        error: { message: 'too far', name: 'RangeError', code: 'FAR', suggestion: 'come closer', helpUrl: 'https://example.com/far' },
        text: { message: 'just text' },
        number: { message: '42 was thrown' },
        object: { message: 'like an error', code: 'OBJ' },
        nothing: { message: 'undefined was thrown' },
      };
      for (const [what, expected] of Object.entries(cases)) {
        const error = await tool.error('throws', { what });
        for (const [key, value] of Object.entries(expected)) assert.strictEqual(error[key], value, what);
      }
      assert.ok((await tool.error('throws', { what: 'getter' })).message);
    });

    test('an error has its stack in the author\'s lines in the log, and only at the level debug', async () => {
      const result = await tool.call('throws', { what: 'error' }, undefined, '-v');
      assert.match(result.log, /debug \(throws\): RangeError: too far\n/);
      assert.match(result.log, /debug \(throws\): {5}at .*\.[jt]s:\d+\)?\n/);
      assert.doesNotMatch(JSON.stringify(result), /\.[jt]s:\d/);
      assert.doesNotMatch((await tool.call('throws', { what: 'error' })).log, /RangeError/);
    });

    test('what JSON cannot hold is named', async () => {
      const message = async (what) => (await tool.error('returns', { what })).message;
      assert.match(await message('bigint'), /output\.list\[1\]\.n is a BigInt/);
      assert.match(await message('cycle'), /output\.a\[0\]\.back refers to a value that contains it/);
      assert.match(await message('function'), /output is a function/);
      assert.match(await message('symbol'), /output is a symbol/);
      assert.match(await message('nan'), /output\[1\]\.n is NaN/);
      assert.match(await message('infinity'), /output\.list\[0\] is -Infinity/);
      assert.deepStrictEqual(await tool.output('returns', { what: 'invalidDate' }), [null]);
      assert.strictEqual(await tool.output('returns', { what: 'nothing' }), null);
      assert.strictEqual(await tool.output('returns', { what: 'date' }), '1970-01-01T00:00:00.000Z');
      assert.strictEqual(await tool.output('returns', { what: 'lone' }), '\ufffd');
    });

    test('an integer that a number cannot hold exactly is refused with its place', async () => {
      const call = (list) => tool.call('returns', `{"what": "input", "list": ${list}}`);
      const { error } = await call('["725653563933458433", {"id": 725653563933458433}]');
      assert.match(error.message, /^input\.list\[1\]\.id is 725653563933458433: /);
      assert.strictEqual(error.code, 'INEXACT_NUMBER');
      const { output } = await call('[9007199254740991, 1e18, 1.5]');
      assert.deepStrictEqual(output.list, [9007199254740991, 1e18, 1.5]);
    });

    test('promises that come to nothing are errors', async () => {
      assert.strictEqual((await tool.error('uncaught')).message, 'from a timer');
      if (engine === 'qjs') {
        assert.strictEqual((await tool.error('never')).code, 'NEVER_SETTLED');
        assert.strictEqual((await tool.error('unhandled')).message, 'nobody listens');
      } else {
        // The engine ends a call that nothing can end, and tells nobody of rejections.
        assert.strictEqual((await tool.error('never')).code, 'E_TOOL_TRAP');
        assert.strictEqual(await tool.output('unhandled'), 'too late');
      }
    });

    test('what a handler leaves running is dropped', async () => {
      assert.strictEqual(await tool.output('left'), 'done');
    });

    test('timers run in order, and wait', async () => {
      const { seen, ticks, elapsed } = await tool.output('timers');
      assert.deepStrictEqual(seen, ['tick', 'microtask', 'immediate', 'soon', 'later', 'waited']);
      assert.strictEqual(ticks, 3);
      assert.ok(elapsed >= 30, `${elapsed} ms`);
    });

    test('promises combine', async () => {
      assert.deepStrictEqual(await tool.output('promises'), {
        settled: ['fulfilled', 'rejected', 'fulfilled'],
        any: 2,
        race: 'fast',
        all: [1, 2, 3],
        collected: [1, 2, 3],
        event: 'event',
        iterated: 6,
      });
    });

    test('random numbers differ between calls', async () => {
      const [one, two] = [await tool.output('random'), await tool.output('random')];
      for (const key of ['random', 'uuid', 'bytes']) assert.notDeepStrictEqual(one[key], two[key], key);
      assert.strictEqual(one.many, 1000);
      assert.match(one.uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    });

    test('the time is real and goes on', async () => {
      const start = Date.now();
      const { before, after } = await tool.output('time');
      assert.ok(before >= start - 1000 && after <= Date.now() + 1000);
      assert.ok(after - before >= 14, `${after - before} ms`);
    });

    test('Bun reads and writes files', async () => {
      const { failure, ...rest } = await tool.output('bun');
      assert.deepStrictEqual(rest, {
        written: 14,
        size: 14,
        type: 'application/json;charset=utf-8',
        exists: true,
        folder: false,
        missing: [false, 0],
        text: '{"a":"é😀"}',
        json: { a: 'é😀' },
        bytes: 14,
        buffer: 14,
      });
      assert.strictEqual(failure.code, 'ENOENT');
    });

    test('node:fs does what it does in Node', async () => {
      const output = await tool.output('files');
      assert.deepStrictEqual(output, {
        made: 'd/e/g',
        entries: [['a.txt', false, false], ['e', true, false], ['link', false, true]],
        tree: ['a.txt', 'e', 'e/b.bin', 'e/c.txt', 'e/f', 'e/g', 'e/g/h', 'link'],
        text: 'one two',
        buffer: Buffer.from('one two').toString('hex'),
        byCallback: 'one two',
        sync: 'one two',
        size: 7,
        isFile: true,
        mtimeMs: 2_000_500,
        link: ['a.txt', '/d/a.txt', true],
        temporary: [true, '/tmp/x-', 13],
        gone: [false, false, false],
      });
    });

    test('errors of files are as Node makes them', async () => {
      const output = await tool.output('failures');
      assert.deepStrictEqual(output.missing, {
        code: 'ENOENT',
        errno: -2,
        syscall: 'open',
        path: 'nope',
        message: "ENOENT: no such file or directory, open 'nope'",
      });
      const codes = Object.fromEntries(Object.entries(output).map(([key, { code }]) => [key, code]));
      assert.deepStrictEqual(codes, {
        missing: 'ENOENT',
        escape: 'EPERM',
        escapeWrite: 'EPERM',
        exists: 'EEXIST',
        notEmpty: 'ENOTEMPTY',
        folder: 'EISDIR',
        notFolder: 'ENOTDIR',
        exclusive: 'EEXIST',
        rename: 'ENOENT',
        type: 'ERR_INVALID_ARG_TYPE',
      });
      assert.strictEqual(output.rename.message, "ENOENT: no such file or directory, rename 'a' -> 'b'");
    });

    test('access says what the tool may do with a file', async () => {
      const work = await temporary();
      await mkdir(path.join(work, 'd'));
      await writeFile(path.join(work, 'f'), 'kept');
      const paths = ['d', 'f', 'nope', '../x'];
      const { codes, wrong, opened } = await tool.output('access', { paths }, work);
      assert.deepStrictEqual(codes, {
        d: { F: 'ok', R: 'ok', W: 'ok', X: 'ok', RW: 'ok' },
        // Nothing can be executed.
        f: { F: 'ok', R: 'ok', W: 'ok', X: 'EACCES', RW: 'ok' },
        nope: { F: 'ENOENT', R: 'ENOENT', W: 'ENOENT', X: 'ENOENT', RW: 'ENOENT' },
        '../x': { F: 'EPERM', R: 'EPERM', W: 'EPERM', X: 'EPERM', RW: 'EPERM' },
      });
      assert.deepStrictEqual(wrong.map(({ code }) => code), ['ERR_OUT_OF_RANGE', 'ERR_INVALID_ARG_TYPE']);
      assert.deepStrictEqual(opened, ['ok', 'EEXIST', 'ok']);
      assert.strictEqual(await readFile(path.join(work, 'new'), 'utf8'), 'ab');
      assert.strictEqual(await readFile(path.join(work, 'f'), 'utf8'), 'kept');

      const readOnly = await tool.callWith(READ_ONLY, 'access', { paths: ['d', 'f'] }, work);
      const refused = { F: 'ok', R: 'ok', W: 'EROFS', RW: 'EROFS' };
      assert.deepStrictEqual(readOnly.output.codes, { d: { ...refused, X: 'ok' }, f: { ...refused, X: 'EACCES' } });
    });

    test('a handler whose name cannot be exported is left out', async () => {
      const [{ text }] = tool.answer.warnings;
      assert.match(text, /`accessModes` is left out/);
      assert.strictEqual((await tool.output('context')).workdir, '/');
    });

    test('nothing outside the working directory is read', async () => {
      const folder = await temporary();
      await writeFile(path.join(folder, 'secret.txt'), 'secret');
      await mkdir(path.join(folder, 'w'));
      for (const escape of ['../secret.txt', '/../secret.txt', 'a/../../secret.txt', path.join(folder, 'secret.txt')]) {
        const result = await tool.call('escape', { path: escape }, path.join(folder, 'w'));
        assert.match(result.error.code, /^(E_TOOL_DENIED|ENOENT)$/);
        assert.ok(!JSON.stringify(result).includes('"secret"'));
      }
    });

    test('large texts survive the way to a file and back', async () => {
      const workdir = await temporary();
      assert.deepStrictEqual(await tool.output('big', {}, workdir), { same: true, size: 1_600_000 });
      assert.strictEqual(await readFile(path.join(workdir, 'big.txt'), 'utf8'), 'añb😀'.repeat(200_000));
    });

    test('the values of the web and of Node are there', async () => {
      assert.deepStrictEqual(await tool.output('values'), {
        url: ['https://user@example.com:8080/b?x=1&y=%20z#h', '8080', ' z', 'q=a+b', false],
        clone: [5, true],
        buffer: ['aMOpbGxv', 'hi', '010000', 6, -1, true, 'é', 'a\ufffd'],
        text: [[195, 169], 'é'],
        base64: ['hi', 'aGk='],
        path: ['b', '/x', 'b', true],
        os: '\n',
        util: ['x is 2 { a: 1 }', '{ a: [ 1 ] }'],
        process: ['/', 'wasi', 'object', 2],
        assert: ['AssertionError', 'ERR_ASSERTION'],
      });
    });

    test('processes and the network are refused in clear words', async () => {
      for (const what of ['spawn', 'shell', 'exec', 'promised', 'child']) {
        const { code, message, suggestion } = await tool.error('refused', { what });
        assert.strictEqual(code, 'NO_PROCESSES');
        assert.match(message, /no process can be started/);
        assert.match(suggestion, /bash__exec/);
      }
      const { code, message } = await tool.error('refused', { what: 'net' });
      assert.strictEqual(code, 'NO_NETWORK');
      assert.match(message, /net\.connect: the network is closed/);
      assert.match((await tool.error('refused', { what: 'cipher' })).suggestion, /@noble\/ciphers/);
    });
  });

  describe(`a module whose top level looks at the clock, on ${engine}`, needs, () => {
    let tool;
    before(async () => {
      tool = await Tool.of(fixture('fresh.ts'), ['state', 'start'], '--engine', engine);
    });

    test('runs anew for each call', async () => {
      const [one, two] = [await tool.output('state'), await tool.output('state')];
      assert.notStrictEqual(one.id, two.id);
      assert.ok(two.loadedAt > one.loadedAt);
      assert.ok(two.now - two.loadedAt < 1000);
      assert.deepStrictEqual([one.calls, two.calls], [1, 1]);
    });

    test('answers pending with its handle', async () => {
      const result = await tool.call('start', { steps: 1 });
      assert.strictEqual(result.status, 'pending');
      assert.ok(result.handle);
      assert.strictEqual(tool.answer.world.polling, true);
    });
  });
}

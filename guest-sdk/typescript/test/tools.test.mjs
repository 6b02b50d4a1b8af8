// `ctx.tools`, over a fake of what the host gives.
import assert from 'node:assert';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import { before, test } from 'node:test';
import vm from 'node:vm';
import { bundle } from '../build/bundle.mjs';
import { useOfTools } from '../build/handlers.mjs';
import { buildText, fixture } from './toolhost.mjs';

/** The tools of a step, and what became of their calls. Time is a number. */
class FakeHost {
  now = 0;
  running = 0;
  mostRunning = 0;
  started = [];
  cancelled = [];
  dropped = 0;

  constructor(names, { atOnce = 16, inAll = 1_000 } = {}) {
    Object.assign(this, { names, atOnce, inAll });
  }

  imports() {
    const host = this;
    const error = (code, message, suggestion) => ({ error: { message, code, suggestion } });
    const tool = (name) => ({ name, description: `does ${name}`, parameters: '{"type":"object"}', outputSchema: undefined });
    const known = (name) => {
      if (!host.names.includes(name)) throw error('E_TOOL_NOT_IN_CATALOG', `Tool '${name}' is not available`, "Did you mean 'echo__say'? Use another.");
    };
    class Call {
      constructor(name, args) {
        Object.assign(this, { name, args, ends: name.endsWith('never') ? Infinity : host.now + 1 });
      }
      subscribe() {
        return { call: this, block: () => (host.now = this.ends), [Symbol.dispose]() {} };
      }
      get() {
        if (host.now < this.ends) return undefined;
        if (this.name.endsWith('fail')) return { tag: 'err', val: error('NOT_FOUND', 'nothing there', 'look elsewhere') };
        return { tag: 'ok', val: JSON.stringify({ [this.name]: JSON.parse(this.args) }) };
      }
      cancel() {
        host.cancelled.push(this.name);
      }
      [Symbol.dispose]() {
        host.running -= 1;
        host.dropped += 1;
      }
    }
    return {
      'goondan:tool/tools': {
        names: () => host.names,
        describe: (name) => (known(name), tool(name)),
        search: (query, limit) => host.names.filter((name) => name.includes(query)).slice(0, limit).map(tool),
        start: (name, args) => {
          known(name);
          if (name.endsWith('strict')) throw { ...error('E_TOOL_INVALID_ARGS', 'n is missing', 'pass n'), parameters: '{"required":["n"]}' };
          if (host.running >= host.atOnce || host.started.length >= host.inAll) throw error('E_TOOL_CALL_LIMIT', 'too many calls', 'fewer');
          host.started.push(name);
          host.running += 1;
          host.mostRunning = Math.max(host.mostRunning, host.running);
          return new Call(name, args);
        },
      },
      'wasi:clocks/monotonic-clock': { now: () => BigInt(host.now), subscribeDuration: () => ({ block() {} }) },
      'wasi:io/poll': {
        poll: (pollables) => {
          host.now = Math.min(...pollables.map(({ call }) => call?.ends ?? Infinity));
          return pollables.flatMap(({ call }, index) => (call?.ends <= host.now ? [index] : []));
        },
      },
      'wasi:logging/logging': { log() {} },
    };
  }
}

const CONTEXT = { agentName: 'a', instanceKey: 'k', turnId: 't', toolCallId: 'c', message: '{}', workdir: '/' };
const NAMES = ['echo__say', 'echo__fail', 'echo__never', 'echo__strict', 'file-system__read', 'a-b__c', 'a_b__c', 'a-b__d', 'search__then', 'constructor__then', 'then__x'];

let code;
before(async () => {
  const made = await bundle({ entry: fixture('tools.ts') });
  assert.deepStrictEqual(made.features, { polling: false, agents: false, tools: true, fetch: false });
  code = made.code;
});

/** Calls a handler of a fresh instance. */
function call(handler, input, host = new FakeHost(NAMES)) {
  const module = { exports: {} };
  const imports = host.imports();
  const context = vm.createContext({ btoa, atob });
  // Node has it in its main context alone.
  vm.runInContext('(dispose) => Symbol.dispose ?? Object.defineProperty(Symbol, "dispose", { value: dispose })', context)(Symbol.dispose);
  vm.runInContext(code, context)(module, module.exports, (name) => imports[name] ?? {}, []);
  return JSON.parse(module.exports.handlers.call(handler, CONTEXT, JSON.stringify(input)).val);
}

const value = (of) => ({ value: of });
const path = (...keys) => call('path', { keys });

test('a tool is a function by its name, and by an alias that only it has', () => {
  const read = value({ 'file-system__read': { n: 1 } });
  for (const keys of [['file-system__read'], ['file_system', 'read'], ['file-system', 'read'], ['file_system__read']]) {
    assert.deepStrictEqual(path(...keys), read, keys.join('.'));
  }
  assert.deepStrictEqual(path('a_b', 'd'), value({ 'a-b__d': { n: 1 } }));
  assert.deepStrictEqual(path('a_b__c'), value({ 'a_b__c': { n: 1 } }));
  const clash = path('a_b', 'c');
  assert.deepStrictEqual([clash.code, clash.suggestion], ['AMBIGUOUS_TOOL', 'write tools["a-b__c"] or tools["a_b__c"]']);
});

test('a name that no tool has is an error that names the nearest, and all', () => {
  for (const keys of [['echo__sya'], ['echo', 'sya'], ['__proto', 'x'], ['x'.repeat(1 << 20)]]) {
    const error = path(...keys);
    assert.strictEqual(error.code, 'E_TOOL_NOT_IN_CATALOG', keys[0].slice(0, 20));
    assert.match(error.suggestion, /^Did you mean 'echo__say'\? the tools are echo__say, echo__fail, /);
  }
  const listed = call('path', { keys: ['nope__x'] }, new FakeHost(Array.from({ length: 1_000 }, (_, n) => `t${n}__x`)));
  assert.match(listed.suggestion, /t19__x and 980 more, which tools.search\(text\) finds$/);
  assert.match(call('path', { keys: ['nope__x'] }, new FakeHost([])).suggestion, /there are no tools$/);
});

test('names of the language are no tools and reach no prototype', () => {
  for (const key of ['__proto__', 'constructor', 'then', 'toString', 'valueOf', 'hasOwnProperty', 'toJSON']) {
    assert.deepStrictEqual(path(key), value('undefined'), key);
    assert.deepStrictEqual(path('echo', key), value('undefined'), key);
  }
  // By its name, a tool is always there.
  assert.deepStrictEqual(path('constructor__then'), value({ constructor__then: { n: 1 } }));
  assert.deepStrictEqual(path('search__then'), value({ search__then: { n: 1 } }));
  assert.deepStrictEqual(call('rebinds', {}), [['TypeError', 'TypeError', 'TypeError', 'TypeError'], { echo__say: { n: 3 } }]);
});

test('what the tools are is there, and awaiting them changes nothing', () => {
  const { described, found, ...about } = call('about', {});
  const tool = { name: 'file-system__read', description: 'does file-system__read', parameters: { type: 'object' } };
  assert.deepStrictEqual([described, found], [tool, [tool]]);
  assert.deepStrictEqual(about, { awaited: true, names: NAMES, keys: NAMES, has: [true, false], symbol: 'undefined', json: '{}' });
});

test('a failure is an exception with code, suggestion and schema', () => {
  const failed = { isToolError: true, name: 'ToolError', message: 'nothing there', code: 'NOT_FOUND', suggestion: 'look elsewhere', tool: 'echo__fail' };
  assert.deepStrictEqual(call('call', { name: 'echo__fail', args: {} }), failed);
  const { code, schema } = call('call', { name: 'echo__strict', args: {} });
  assert.deepStrictEqual([code, schema], ['E_TOOL_INVALID_ARGS', { required: ['n'] }]);
  assert.deepStrictEqual(call('one-fails', {}), [{ echo__say: { n: 1 } }, 'NOT_FOUND', { echo__say: { n: 2 } }]);
});

test('calls run at the same time, and those beyond what the host allows wait', () => {
  const expected = value(Array.from({ length: 100 }, (_, n) => ({ echo__say: { n } })));
  for (const [atOnce, most] of [[16, 16], [3, 3], [100, 16]]) {
    const host = new FakeHost(NAMES, { atOnce });
    assert.deepStrictEqual(call('at-once', { count: 100 }, host), expected);
    assert.deepStrictEqual([host.mostRunning, host.dropped, host.running], [most, 100, 0]);
  }
  const host = new FakeHost(NAMES, { inAll: 40 });
  assert.strictEqual(call('at-once', { count: 100 }, host).code, 'E_TOOL_CALL_LIMIT');
  assert.strictEqual(host.started.length, 40);
});

test('an aborted call is cancelled and dropped', () => {
  const host = new FakeHost(NAMES);
  const [said, { message }] = call('aborts', {}, host);
  assert.deepStrictEqual([said, message], [{ echo__say: { n: 1 } }, 'enough']);
  assert.deepStrictEqual([host.cancelled, host.dropped], [['echo__never'], 2]);
});

test('only a tool that uses `ctx.tools` imports tools', async () => {
  for (const [text, expected] of [
    ['var handlers = { a: (ctx) => ctx.tools.names() };', true],
    ['var handlers = { a: (context2) => context2?.tools["x__y"]() };', true],
    ['class A { run() { return this.ctx.tools } }', true],
    ['var handlers = { a: async ({ tools }, input) => tools };', true],
    ['function a(ctx) { const { tools: all } = ctx; }', true],
    ['const { tools } = require("x"), config = { tools: [] }; config.tools = 1; // ctx.tools', false],
    ['var handlers = { a: (ctx) => "ctx.tools" };', false],
  ]) {
    assert.strictEqual(useOfTools(text) !== undefined, expected, text);
  }
});

test('an engine without tools is named, with the line that uses them', async () => {
  const text = "import { say } from './say';\nexport const handlers = { a: say };";
  const say = 'interface A { b: string }\n\nexport async function say(ctx) {\n  return ctx.tools.names();\n}\n';
  const files = { 'package.json': '{"toolhost": {"engine": "starlingmonkey"}}', 'say.ts': say };
  for (const more of [[], ['--check']]) {
    const { ok, kind, errors } = await buildText(text, files, ...more);
    assert.deepStrictEqual([ok, kind], [false, 'source']);
    assert.match(errors[0].text, /`ctx.tools` does not exist in the engine `starlingmonkey`/);
    const { file, line, column, lineText } = errors[0];
    assert.deepStrictEqual({ file, line, column, lineText }, { file: 'say.ts', line: 4, column: 10, lineText: '  return ctx.tools.names();' });
    assert.match(errors[0].suggestion, /`qjs`/);
  }
});

// The output of `ToolCatalog::to_typescript` for every shape of a schema.
test('declarations of tools have the types that they should', async () => {
  const ts = createRequire(new URL('../build/package.json', import.meta.url))('typescript');
  const declarations = await readFile(new URL('../../../host/toolhost/src/catalog/declarations/shapes.d.ts', import.meta.url), 'utf8');
  const usage = await readFile(fixture('declarations.ts'), 'utf8');
  const files = { '/shapes.ts': declarations, '/usage.ts': usage };
  const options = { strict: true, noEmit: true, target: ts.ScriptTarget.ESNext, lib: ['lib.esnext.d.ts'], types: [] };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  Object.assign(host, {
    fileExists: (name) => name in files || fileExists(name),
    getSourceFile: (name, ...rest) => (name in files ? ts.createSourceFile(name, files[name], ...rest) : getSourceFile(name, ...rest)),
  });
  const program = ts.createProgram(Object.keys(files), options, host);
  const problems = ts.getPreEmitDiagnostics(program).map(({ messageText, file, start }) => `${file && basename(file.fileName)}:${file?.getLineAndCharacterOfPosition(start).line + 1} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
  assert.deepStrictEqual(problems, []);
});

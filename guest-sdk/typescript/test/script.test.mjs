// The script tool of the examples, over another tool, through the host.
import assert from 'node:assert';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { before, test } from 'node:test';
import { SDK, Tool, needsHost, temporary } from './toolhost.mjs';

const EXAMPLE = path.join(SDK, '../../guest-examples/typescript/javascript');

/** The same component is the tool of scripts and the one that they call: a tool does not call itself. */
const MANIFEST = `apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: t }
spec: { entry: ./tool.wasm, exports: [{ name: script }] }
---
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: other-tool }
spec:
  entry: ./tool.wasm
  exports:
    - name: run
      parameters: { type: object, properties: { code: { type: string } }, required: [code], additionalProperties: false }
    - name: script
`;

const POLICY = 'tools: { t: { tools: ["other-tool__run"] } }\n';

let tool;
before(async () => {
  if (needsHost.skip) return;
  tool = await Tool.of(path.join(EXAMPLE, 'index.ts'), ['script']);
  await writeFile(path.join(tool.folder, 'goondan.yaml'), MANIFEST);
});

const call = (code, workdir, args) => tool.callWith(POLICY, 'script', { code, ...(args !== undefined && { args }) }, workdir);

async function output(...given) {
  const result = await call(...given);
  if (result.status !== 'ok') throw new Error(JSON.stringify(result));
  return result.output;
}

async function error(...given) {
  const result = await call(...given);
  if (result.status !== 'error') throw new Error(JSON.stringify(result));
  return result.error;
}

const print = (text) => `tools["other-tool__run"]({ code: ${JSON.stringify(`console.log(${JSON.stringify(text)})`)} })`;

test('calls tools, one after another and at the same time, by name and alias', needsHost, async () => {
  const code = `
    const one = await ${print('a')};
    const [two, three] = await Promise.all([tools.other_tool.run({ code: 'console.log(1 + 1)' }), ${print('c')}]);
    const { name, parameters } = await tools.describe('other-tool__run');
    console.log(await tools.names());
    return [args.x, one.stdout, two.stdout, three.stdout, name, parameters.required, Object.keys(tools)];`;
  assert.deepStrictEqual(await output(code, undefined, { x: 7 }), {
    result: [7, 'a\n', '2\n', 'c\n', 'other-tool__run', ['code'], ['other-tool__run']],
    log: "[ 'other-tool__run' ]\n",
  });
});

test('a hundred calls at once are a hundred results in their order', needsHost, async () => {
  const code = `const all = await Promise.all(Array.from({ length: 100 }, (_, n) => tools.other_tool.run({ code: \`console.log(\${n})\` })));
    return all.map(({ stdout }) => Number(stdout))`;
  assert.deepStrictEqual(await output(code), { result: Array.from({ length: 100 }, (_, n) => n) });
});

test('a failure can be caught; one that is not keeps tool, code and suggestion, and has the line', needsHost, async () => {
  const caught = await output('try { await tools["other-tool__run"]({ cod: 1 }) } catch (error) { return [error.name, error.code, error.schema.required] }');
  assert.deepStrictEqual(caught.result, ['ToolError', 'E_TOOL_INVALID_ARGS', ['code']]);
  const uncaught = await error('const code = "a";\nawait tools.other_tool.run({ cod: code });');
  assert.strictEqual(uncaught.code, 'E_SCRIPT');
  assert.match(uncaught.message, /^ToolError of other-tool__run, E_TOOL_INVALID_ARGS: .*\nline 2, column \d+: await tools.other_tool.run/s);
  assert.match(uncaught.suggestion, /its parameters are \{.*"required":\["code"\]/);
  for (const [code, line] of [
    ["await Promise.all([\n  tools.other_tool.run({ code: '' }),\n  tools.other_tool.run({ cod: 1 }),\n]);", 3],
    ["const { run } = tools.other_tool;\nawait tools.search('x');\nawait run({ cod: 1 });", 3],
    ["const one = (input) =>\n  run(input);\nconst { run } = tools.other_tool;\nawait Promise.all([{ cod: 1 }].map(one));", 2],
    ["const { run } = tools.other_tool;\nawait Promise.all(\n  [{ cod: 1 }].map(run),\n);", 3],
    ["const a\\u0062é = { cod: 1 };\nawait tools.other_tool.run(abé);", 2],
  ]) {
    const { message } = await error(code);
    assert.match(message, new RegExp(`E_TOOL_INVALID_ARGS.*\\nline ${line}, column`, 's'), code);
  }
  const denied = await error('await tools["other-tool__script"]({ code: "" })');
  assert.match(denied.message, /E_TOOL_DENIED/);
  assert.match(denied.suggestion, /tools: \{t: \{tools: \["other-tool__script"/);
  const unknown = await error('return 1 +\n  await tools.other_tol.run({})');
  assert.match(unknown.message, /there is no tool tools\.other_tol\.run\nline 2, column 9/);
  assert.match(unknown.suggestion, /the tools are other-tool__run$/);
});

test('a call that nothing waits for is an error with its line and is stopped', needsHost, async () => {
  const workdir = await temporary();
  const slow = "await new Promise((done) => setTimeout(done, 2_000)); require('fs').writeFileSync('late', '')";
  for (const [code, line] of [
    [`const code = ${JSON.stringify(slow)};\ntools.other_tool.run({ code });\nreturn 1`, 2],
    [`const code = ${JSON.stringify(slow)};\n[1, 2].forEach(async () => {\n  await tools.other_tool.run({ code });\n});`, 3],
    [`const code = ${JSON.stringify(slow)};\nasync function main() {\n  return await tools.other_tool.run({ code });\n}\nmain();`, 3],
  ]) {
    const { code: errorCode, message } = await error(code, workdir);
    assert.strictEqual(errorCode, 'E_SCRIPT');
    assert.match(message, new RegExp(`ended while tools\\["other-tool__run"\\] was running \\(line ${line}\\).*\\nline ${line}, column`, 's'));
  }
  assert.ok(!existsSync(path.join(workdir, 'late')));
});

test('an error that nothing catches ends the script, as that of a promise without a handler', needsHost, async () => {
  const { code, message } = await error(`tools.other_tool.run({ cod: 1 }).then(() => 1);\nawait ${print('a')};\nawait new Promise((done) => setTimeout(done, 20_000));`);
  assert.deepStrictEqual([code, /E_TOOL_INVALID_ARGS.*line 1, column/s.test(message)], ['E_SCRIPT', true]);
});

test('a call that has lost a race is stopped at the end, and no error', needsHost, async () => {
  const workdir = await temporary();
  const slow = JSON.stringify("await new Promise((done) => setTimeout(done, 2_000)); require('fs').writeFileSync('late', '')");
  const code = `
    const timeout = (ms) => new Promise((_, fail) => setTimeout(() => fail(new Error('timeout')), ms));
    const work = async () => (await tools.other_tool.run({ code: ${slow} })).stdout;
    const late = await Promise.race([work(), timeout(20)]).catch((error) => error.message);
    const { stdout } = await Promise.race([${print('a')}, timeout(60_000)]);
    return [late, stdout];`;
  assert.deepStrictEqual((await output(code, workdir)).result, ['timeout', 'a\n']);
  assert.ok(!existsSync(path.join(workdir, 'late')));
});

test('an `await` that is missing is named where a value turns out to be a promise', needsHost, async () => {
  for (const code of [
    `const made = ${print('a')};\nreturn made.stdout.length;`,
    `const made = ${print('a')};\nawait ${print('b')};\nfor (const each of made.lines) console.log(each);`,
  ]) {
    const { message, suggestion } = await error(code);
    assert.match(message, /^TypeError: /);
    assert.match(suggestion, /^write `await` in line 1, which has a promise: const made = tools/);
  }
});

test('the suggestion of a failure is said once', needsHost, async () => {
  const { message, suggestion } = await error('await tools["other-tool__nothing"]()');
  assert.match(message, /^ToolError of other-tool__nothing, E_TOOL_NOT_IN_CATALOG: there is no tool tools\["other-tool__nothing"\]\nline 1/);
  assert.match(suggestion, /the tools are other-tool__run$/);
});

// Hostile scripts.

test('names and rebound globals reach no tool that is not granted', needsHost, async () => {
  const workdir = await temporary();
  const write = JSON.stringify("require('fs').writeFileSync('made', '')");
  const code = `
    const tried = [];
    const attempt = async (act) => { try { tried.push(typeof (await act())) } catch (error) { tried.push(error.code ?? error.name) } };
    for (const key of ['__proto__', 'constructor', 'then', 'toString']) await attempt(() => tools[key]);
    await attempt(() => tools.call('__proto__'));
    await attempt(() => tools.call('x'.repeat(1 << 20)));
    await attempt(() => tools.call('other-tool__script', { code: ${write} }));
    await attempt(() => tools.call('t__script', { code: ${write} }));
    await attempt(() => { 'use strict'; tools['other-tool__run'] = () => 'fooled' });
    globalThis.tools = { 'other-tool__script': () => 'fooled' };
    Object.prototype['other-tool__script'] = () => 'fooled';
    Promise.prototype.then.call = () => 'fooled';
    await attempt(() => tools['other-tool__script']({ code: ${write} }));
    return tried;`;
  const { result } = await output(code, workdir);
  const denied = 'E_TOOL_DENIED';
  const unknown = 'E_TOOL_NOT_IN_CATALOG';
  assert.deepStrictEqual(result, [...Array(4).fill('undefined'), unknown, 'E_TOOL_INVALID_ARGS', denied, denied, 'TypeError', denied]);
  assert.ok(!existsSync(path.join(workdir, 'made')));
});

test('many lines of the log are cut with a mark and in little memory', needsHost, async () => {
  const result = await tool.callWith(POLICY, 'script', { code: "for (let n = 0; n < 100_000; n += 1) console.log(`line ${n}`, 'x'.repeat(100));\nreturn 'done'" }, undefined, '--usage');
  const { output: { result: value, log }, usage } = result;
  assert.strictEqual(value, 'done');
  assert.ok(log.length < 17_000);
  assert.match(log, /^line 0 x/);
  assert.match(log, /\n\[… 1\d{7} characters left out: the log keeps its first and its last 8192 …\]\n/);
  assert.match(log, /line 99999 x+\n$/);
  assert.ok(usage.memoryPeak < 64 << 20, String(usage.memoryPeak));
});

test('the output of a tool is data and never code', needsHost, async () => {
  const workdir = await temporary();
  const text = "require('fs').writeFileSync('made', ''); ${process.exit()} `'\"</script>";
  const { result } = await output(`const { stdout } = await ${print(text)};\nreturn { stdout, ['__proto__']: { polluted: true }, clean: {}.polluted ?? null }`, workdir);
  assert.strictEqual(result.stdout, `${text}\n`);
  assert.strictEqual(result.clean, null);
  assert.ok(!existsSync(path.join(workdir, 'made')));
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { access, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { ClosedWithError, ConnectionError, RpcError, Toolhost } from 'toolhost-client';

import { addPrograms, assertStopped, bundle, directory, endless, program, untilItWrites } from './support.mjs';

const upper = (text, id = 'call-1') => ({ id, name: 'text__upper', args: { text } });
const options = { program, stderr: 'ignore' };
let tools, stateRoot;

before(async () => {
  [tools, stateRoot] = [await bundle(), await directory()];
});

/** Runs a test with a server of its own. */
const withHost = (name, run, more = {}) => test(name, async () => {
  const workdir = await directory();
  const host = Toolhost.spawn({ ...options, bundle: tools, workdir, stateRoot, ...more });
  try {
    await run(host, workdir);
  } finally {
    await host.close();
  }
});

withHost('a call and its failure are results', async (host) => {
  assert.deepEqual(await host.execute(upper('한글\u2028')), {
    toolCallId: 'call-1', toolName: 'text__upper', status: 'ok', output: { text: '한글\u2028' },
  });
  const failed = await host.execute({ id: 'c', name: 'text__fail', args: { length: 3, code: 'MINE' } });
  assert.deepEqual([failed.status, failed.error.code], ['error', 'MINE']);
  const unknown = await host.execute({ id: 'c', name: 'text__nope' });
  assert.equal(unknown.error.code, 'E_TOOL_NOT_IN_CATALOG');
  const { usage } = await host.execute(upper('a'), { usage: true });
  assert.ok(usage.memoryPeak > 0);
});

withHost('a turn has steps, and its calls run at once', async (host) => {
  const turn = await host.openTurn({ input: 'hi', traceId: 'trace-1' });
  assert.equal(turn.traceId, 'trace-1');
  const step = await turn.openStep({ format: 'anthropic' });
  assert.deepEqual(step.tools.map((tool) => tool.name), [
    'text__upper', 'text__fail', 'write_bytes__run', 'pending__run',
  ]);
  const calls = Array.from({ length: 200 }, (_, n) => step.execute(upper(`text ${n}`, `call-${n}`)));
  const results = await Promise.all(calls);
  results.forEach((result, n) => assert.deepEqual([result.toolCallId, result.output.text], [`call-${n}`, `TEXT ${n}`]));
  assert.deepEqual((await turn.status()).steps, [step.id]);
  assert.equal(await step.close('of the step'), 'of the step');
  assert.deepEqual(await turn.close({ answer: 1 }), { answer: 1 });
  await assert.rejects(turn.close(), (error) => error instanceof RpcError && error.code === 'E_RPC_NOT_FOUND');
  const failed = await host.openTurn();
  await assert.rejects(failed.fail({ message: 'no', code: 'MINE' }), (error) => {
    return error instanceof ClosedWithError && error.error.code === 'MINE';
  });
});

withHost('a pending call is polled and cancelled', async (host, workdir) => {
  const submitted = await host.submit(upper('a'));
  assert.equal(submitted.status, 'pending');
  let result = submitted;
  while (result.status === 'pending') result = await host.poll(submitted.handle);
  assert.equal(result.output.text, 'A');
  const running = await host.submit(endless);
  await untilItWrites(workdir);
  assert.equal((await host.cancel(running.handle)).error.code, 'E_TOOL_CANCELLED');
  await assertStopped(workdir);
  const turn = await host.openTurn();
  const step = await turn.openStep();
  const pending = await step.execute({ id: 'p', name: 'pending__run', args: { handle: 'done:7' } });
  assert.equal((await turn.poll(pending.handle)).output, 7);
});

withHost('numbers keep their digits, and what JSON cannot hold is refused with its place', async (host) => {
  const turn = await host.openTurn();
  const step = await turn.openStep();
  const { handle } = await step.execute({ id: 'p', name: 'pending__run', args: { handle: 'done:[725653563933458433, 7]' } });
  assert.deepEqual((await turn.poll(handle)).output, ['725653563933458433', 7]);
  const failed = await host.execute({ id: 'c', name: 'text__upper', args: { text: 725653563933458433n } });
  assert.match(failed.error.message, /got integer/);
  for (const [text, place] of [[NaN, 'text is NaN'], [[0, -Infinity], 'text.1 is -Infinity'], ['\ud83d', 'text has half']]) {
    await assert.rejects(host.execute(upper(text)), (error) => error.message.startsWith(`params.call.args.${place}`));
  }
  assert.equal((await host.execute(upper('a'))).output.text, 'A');
});

withHost('aborting a call stops its guest', async (host, workdir) => {
  const abort = new AbortController();
  const call = host.execute(endless, { signal: abort.signal });
  await untilItWrites(workdir);
  abort.abort(new Error('enough'));
  await assert.rejects(call, /enough/);
  await assertStopped(workdir);
  await assert.rejects(host.request('host/info', {}, abort.signal), /enough/);
  await host.info();
});

withHost('events are received in order until the loop is left', async (host) => {
  const events = await host.events({ key: 'mine' });
  await host.execute(upper('a'), { instance: { key: 'other' } });
  await host.execute(upper('a'), { instance: { key: 'mine' } });
  const types = [];
  for await (const event of events) {
    types.push(event.type);
    if (event.type === 'turn.completed') break;
  }
  assert.deepEqual(types, [
    'turn.started', 'step.started', 'tool.called', 'tool.completed', 'step.completed', 'turn.completed',
  ]);
});

test('a client loads bundles, and errors name what is wrong', async () => {
  const host = Toolhost.spawn({ ...options, stateRoot });
  const workdir = await directory();
  try {
    assert.equal((await host.info()).servesBundle, false);
    await assert.rejects(host.loadBundle(workdir), (error) => {
      return error instanceof RpcError && error.code === 'E_RPC_BUNDLE' && error.suggestion.length > 0;
    });
    const loaded = await host.loadBundle(tools);
    assert.equal(loaded.agents[0].name, 'default');
    assert.equal((await host.agents(loaded.bundle)).length, 1);
    assert.equal((await host.catalog({ format: 'mcp' })).length, 4);
    const result = await host.execute(
      { id: 'w', name: 'write_bytes__run', args: { path: '/made', bytes: 3 } },
      { instance: { bundle: loaded.bundle, workdir } },
    );
    assert.equal(result.status, 'ok');
    await access(join(workdir, 'made'));
    await host.unloadBundle(loaded.bundle);
    await assert.rejects(host.catalog(), RpcError);
  } finally {
    await host.close();
  }
});

test('a server that cannot start or ends is a ConnectionError', async () => {
  const missing = Toolhost.spawn({ ...options, program: '/does/not/exist' });
  await assert.rejects(missing.info(), ConnectionError);
  const wrong = Toolhost.spawn({ ...options, bundle: '/does/not/exist' });
  await assert.rejects(wrong.info(), (error) => {
    assert.match(error.message, /has ended with exit code 2: .*\/does\/not\/exist/s);
    return error instanceof ConnectionError;
  });
  await assert.rejects(Toolhost.connect(join(await directory(), 'none')), ConnectionError);
  const closed = Toolhost.spawn({ ...options, bundle: tools, workdir: await directory(), stateRoot });
  const running = closed.execute(endless);
  const rejected = assert.rejects(running, ConnectionError);
  await closed.close();
  await rejected;
  await assert.rejects(closed.info(), ConnectionError);
});

test('clients of a socket', async () => {
  const [dir, workdir] = [await directory(), await directory()];
  const path = join(dir, 'rpc.sock');
  const args = ['rpc', tools, '--workdir', workdir, '--socket', path, '--state-root', stateRoot];
  const server = spawn(program, args, { stdio: 'ignore' });
  const exited = new Promise((done) => server.on('exit', done));
  after(() => server.kill('SIGKILL'));
  let host;
  for (let waited = 0; !host; waited += 10) {
    host = await Toolhost.connect(path).catch((error) => {
      if (waited > 20_000) throw error;
    });
    await sleep(10);
  }
  const other = await Toolhost.connect(path);
  other.execute(endless).catch(() => {});
  await untilItWrites(workdir);
  await other.close();
  assert.equal((await host.execute(upper('a'))).output.text, 'A');
  await assertStopped(workdir);
  server.kill('SIGTERM');
  assert.equal(await exited, 0);
  await assert.rejects(host.info(), ConnectionError);
});

test('calls are listed and undone', async () => {
  const [dir, workdir] = [await directory(), await directory()];
  const policy = join(dir, 'policy.yaml');
  await writeFile(policy, 'defaults: {workdir: transactional}');
  const host = Toolhost.spawn({ ...options, bundle: tools, workdir, policy, stateRoot: join(dir, 'state') });
  try {
    for (const bytes of [3, 5]) {
      const call = { id: `w${bytes}`, name: 'write_bytes__run', args: { path: '/f', bytes } };
      const { changes } = await host.execute(call, { usage: true });
      assert.equal(changes.files[0].path, 'f');
    }
    const records = await host.undoList();
    assert.deepEqual(records.map(({ call }) => call), ['write_bytes__run w5', 'write_bytes__run w3']);
    assert.deepEqual((await host.undo()).files, ['f']);
    assert.equal((await stat(join(workdir, 'f'))).size, 3);
    await host.undo(records[1].id, { key: 'other' });
    await assert.rejects(access(join(workdir, 'f')));
    await assert.rejects(host.undo(), (error) => error instanceof RpcError && error.code === 'E_RPC_NOT_FOUND');
  } finally {
    await host.close();
  }
});

test('what waits for approval is listed, read and decided with the token of an approver', async () => {
  const dir = await directory();
  const [policy, approvers, token] = [join(dir, 'policy.yaml'), join(dir, 'approvers'), 'f'.repeat(32)];
  await writeFile(policy, 'defaults: {ask: always}');
  await writeFile(approvers, `ann ${token}`, { mode: 0o600 });
  const host = Toolhost.spawn({ ...options, bundle: tools, policy, approvers, stateRoot: join(dir, 'state') });
  try {
    const held = [await host.execute(upper('a', 'one')), await host.execute(upper('b', 'two'))];
    assert.deepEqual(held.map(({ status, details }) => [status, details.effect]), Array(2).fill(['pending', 'call']));
    const [two, one] = await host.approvals(token);
    assert.deepEqual(two.what, { tool: 'text__upper', args: { text: 'b' } });
    assert.deepEqual((await host.approval(token, one.id)).handle, held[0].handle);
    await assert.rejects(host.approve('e'.repeat(32), one.id), (error) => error.code === 'E_RPC_FORBIDDEN');
    assert.equal((await host.approve(token, one.id, 'fine')).decision.by, 'ann');
    assert.equal((await host.deny(token, two.id, 'not now')).state, 'denied');
    let [result, denied] = held;
    while (result.status === 'pending') result = await host.poll(held[0].handle);
    while (denied.status === 'pending') denied = await host.poll(held[1].handle);
    assert.equal(result.output.text, 'A');
    assert.match(denied.error.message, /not now/);
    assert.deepEqual((await host.approvals(token, { all: true })).map(({ isOpen }) => isOpen), [false, false]);
  } finally {
    await host.close();
  }
});

test('a program calls the tools that the model does not see', async (context) => {
  const dir = await bundle();
  if (!(await addPrograms(dir))) return context.skip('the tool that runs programs is not built');
  const host = Toolhost.spawn({ ...options, bundle: dir, stateRoot, tools: 'script' });
  try {
    const seen = (await host.catalog()).map(({ name }) => name);
    assert.deepEqual(seen, ['javascript__script', 'tools__search']);
    const code = 'return (await tools.text.upper({ text: args.word })).text';
    const result = await host.script('javascript', code, { args: { word: 'hi' } });
    assert.deepEqual(result.output, { result: 'HI' });
    const failed = await host.script('javascript', 'throw new Error("no")');
    assert.equal(failed.error.code, 'E_SCRIPT');
  } finally {
    await host.close();
  }
});

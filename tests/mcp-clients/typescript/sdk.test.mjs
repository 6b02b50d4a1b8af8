// The clients of the TypeScript SDKs against `toolhost serve`: `@modelcontextprotocol/sdk` and its successor
// `@modelcontextprotocol/client`.
import assert from 'node:assert/strict';
import { chmod, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { callsInFlight, deadline, endless, installed, program, withServer } from './support.mjs';

const old = {
  ...await installed('@modelcontextprotocol/sdk/client/index.js'),
  ...await installed('@modelcontextprotocol/sdk/client/stdio.js'),
  ...await installed('@modelcontextprotocol/sdk/client/streamableHttp.js'),
  ...await installed('@modelcontextprotocol/sdk/types.js'),
};
const current = {
  ...await installed('@modelcontextprotocol/client'),
  ...await installed('@modelcontextprotocol/client/stdio'),
};
const logged = 'notifications/message';
const sdks = [
  { sdk: 'sdk 1', from: old, logged: old.LoggingMessageNotificationSchema, schemas: [undefined] },
  { sdk: 'client 2', from: current, logged, schemas: [], mode: 'legacy' },
  { sdk: 'client 2', from: current, logged, schemas: [], mode: { pin: '2026-07-28' }, revision: '2026-07-28' },
];
const connections = ['stdio', 'http'].flatMap((transport) => {
  return sdks.map((sdk) => ({ revision: '2025-11-25', transport, ...sdk }));
});

const textOf = (result) => result.content.map((block) => block.text).join('\n');

/** Makes a test for each connection, or for those of a transport. */
function overEach(name, use, only) {
  for (const connection of connections) {
    const { sdk, revision, transport } = connection;
    if (only && transport !== only) continue;
    withServer(`${name} (${sdk}, ${transport}, ${revision})`, (server) => use(connection, server));
  }
}

/** Connects a client, and closes it after `use`. */
async function connected({ from, mode, transport }, server, use, { options = [], client: more, url, headers } = {}) {
  const client = new from.Client({ name: 'test', version: '1' }, { versionNegotiation: { mode }, ...more });
  let http = url;
  if (transport === 'http') http ??= await server.http('--workdir', server.workdir, ...options);
  const open = transport === 'http'
    ? new from.StreamableHTTPClientTransport(new URL(http), { requestInit: { headers } })
    : new from.StdioClientTransport({ command: program, args: server.stdio(...options), env: process.env });
  try {
    await client.connect(open, { timeout: deadline });
    return await use(client, http);
  } finally {
    await client.close();
  }
}

/** Calls a tool. The second argument of the old SDK's `callTool` is a schema. */
const call = ({ schemas }, client, name, args, options) => {
  return client.callTool({ name, arguments: args, ...options?.params }, ...schemas, { timeout: deadline, ...options });
};

describe('the TypeScript SDKs', { concurrency: 12 }, () => {
  overEach('progress resets the timeout of a long call', async (connection, server) => {
    await connected(connection, server, async (client) => {
      const seconds = [];
      const result = await call(connection, client, 'slow__run', { seconds: 11 }, {
        timeout: 7_000,
        resetTimeoutOnProgress: true,
        onprogress: ({ progress }) => seconds.push(progress),
      });
      assert.deepEqual(result.structuredContent, { slept: 11 });
      assert.equal(seconds.length, 2);
      assert.ok(seconds[0] >= 5 && seconds[1] > seconds[0], `${seconds}`);
    });
  });

  overEach('the tools are those of the catalog', async (connection, server) => {
    const catalog = await server.catalog();
    assert.equal(catalog.length, 6);
    await connected(connection, server, async (client) => {
      const { tools } = await client.listTools();
      const shape = ({ name, description, parameters, outputSchema }) => {
        return { name, description, inputSchema: parameters, outputSchema };
      };
      const listed = tools.map(({ name, description, inputSchema, outputSchema }) => {
        return { name, description, inputSchema, outputSchema };
      });
      assert.deepEqual(listed, catalog.map(shape));
      const revision = client.getNegotiatedProtocolVersion?.();
      if (revision) assert.equal(revision, connection.revision);
    });
  });

  overEach('a call returns its output, and an error names its code and message', async (connection, server) => {
    await connected(connection, server, async (client) => {
      const result = await call(connection, client, 'text__upper', { text: '한글 a\u2028' });
      assert.deepEqual(result.structuredContent, { text: '한글 A\u2028' });
      assert.deepEqual(JSON.parse(textOf(result)), { text: '한글 A\u2028' });
      assert.ok(!result.isError);

      const invalid = await call(connection, client, 'text__upper', { text: 7 });
      assert.equal(invalid.isError, true);
      assert.match(textOf(invalid), /E_TOOL_INVALID_ARGS/);
      const failed = await call(connection, client, 'text__fail', { length: 3, code: 'MINE', suggestion: 'try less' });
      assert.equal(failed.isError, true);
      assert.match(textOf(failed), /MINE[^]*try less/);
      const unknown = await call(connection, client, 'text__nope', {});
      assert.equal(unknown.isError, true);
      assert.match(textOf(unknown), /text__nope[^]*E_TOOL_NOT_IN_CATALOG|E_TOOL_NOT_IN_CATALOG[^]*text__nope/);

      const calls = Array.from({ length: 100 }, (_, n) => call(connection, client, 'text__upper', { text: `t ${n}` }));
      (await Promise.all(calls)).forEach((result, n) => {
        assert.deepEqual(result.structuredContent, { text: `T ${n}` });
      });
    });
  });

  overEach('a call that the client cancels stops, and the connection works on', async (connection, server) => {
    await connected(connection, server, async (client, url) => {
      const cancel = new AbortController();
      const running = call(connection, client, 'files__run', endless, { signal: cancel.signal });
      const ended = assert.rejects(running);
      await server.untilItWrites();
      if (url) assert.equal(await callsInFlight(url), 1);
      cancel.abort();
      await ended;
      await server.assertStopped();
      if (url) assert.equal(await callsInFlight(url), 0);
      const result = await call(connection, client, 'text__upper', { text: 'a' });
      assert.deepEqual(result.structuredContent, { text: 'A' });
    });
  });

  overEach('a client that closes its connection stops its calls', async (connection, server) => {
    let ended;
    await connected(connection, server, async (client) => {
      ended = assert.rejects(call(connection, client, 'files__run', endless));
      await server.untilItWrites();
    });
    await ended;
    await server.assertStopped();
  });

  overEach('what a tool logs arrives', async (connection, server) => {
    await connected(connection, server, async (client) => {
      const records = [];
      client.setNotificationHandler(connection.logged, ({ params }) => records.push(params));
      const params = { _meta: { 'io.modelcontextprotocol/logLevel': 'info' } };
      if (connection.revision === '2025-11-25') {
        delete params._meta;
        await client.setLoggingLevel('info');
      }
      const log = (args) => call(connection, client, 'log__run', args, { params });
      await log({ records: 2, message: 'hello', level: 'warn' });
      await log({ records: 2, message: 'hidden', level: 'debug' });
      assert.deepEqual(records.map((record) => record.level), ['warning', 'warning']);
      for (const record of records) assert.match(JSON.stringify(record.data), /hello/);
    });
  });

  overEach('a changed bundle changes the list, and the client is notified', async (connection, server) => {
    let onChange;
    const changed = new Promise((resolve, reject) => {
      onChange = (error, tools) => (error ? reject(error) : resolve(tools));
    });
    const client = { listChanged: { tools: { onChanged: (error, tools) => onChange(error, tools) } } };
    await connected(connection, server, async (client) => {
      const before = await client.listTools();
      assert.ok(before.tools.some((tool) => tool.name === 'log__run'));
      const manifest = join(server.bundle, 'goondan.yaml');
      const text = await readFile(manifest, 'utf8');
      assert.match(text, /, Tool\/log]/);
      await writeFile(`${manifest}.new`, text.replace(', Tool/log]', ']'));
      await rename(`${manifest}.new`, manifest);
      const tools = await Promise.race([changed, sleep(deadline, undefined, { ref: false })]);
      assert.ok(tools, 'no notification arrived');
      assert.deepEqual(tools.map((tool) => tool.name), before.tools.map((tool) => tool.name).slice(0, -1));
      const gone = await call(connection, client, 'log__run', { records: 1 });
      assert.match(textOf(gone), /E_TOOL_NOT_IN_CATALOG/);
    }, { options: ['--watch'], client });
  });

  overEach('only a client with a token connects, and its token names its workspace', async (connection, server) => {
    const tokens = join(server.top, 'tokens');
    await writeFile(tokens, `alice ${'a'.repeat(32)}\nbob ${'b'.repeat(32)}\n`);
    await chmod(tokens, 0o600);
    const state = join(server.top, 'state');
    const url = await server.http('--tokens', tokens, '--state-root', state);
    const files = async () => (await readdir(state, { recursive: true })).filter((path) => path.endsWith('/mine'));
    const write = (headers) => connected(connection, server, (client) => {
      return call(connection, client, 'files__run', { path: '/mine', bytes: 3 });
    }, { url, headers });
    for (const headers of [{}, { Authorization: `Bearer ${'c'.repeat(32)}` }]) {
      await assert.rejects(write(headers), (error) => /send the token|HTTP 401/.test(error.message));
    }
    assert.deepEqual(await files(), []);
    const result = await write({ Authorization: `Bearer ${'a'.repeat(32)}` });
    assert.deepEqual(result.structuredContent, { written: 3, size: 3 });
    const [path, ...others] = await files();
    assert.match(path, /alice/);
    assert.deepEqual(others, []);
  }, 'http');
});

// MCP Inspector: its command line against `toolhost serve`, and the configuration that
// `toolhost serve --print-config` prints.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { deadline, packages, program, run, withServer } from './support.mjs';

const inspector = join(packages, 'node_modules/.bin/mcp-inspector');
const token = 'a'.repeat(32);
const patient = ['--connect-timeout', String(deadline)];

/** Runs the Inspector's command line. Returns what it printed, and its exit code. */
async function cli(server, ...args) {
  const home = join(server.top, 'home');
  await mkdir(home, { recursive: true });
  const env = { ...process.env, HOME: home };
  const ran = run(process.execPath, [inspector, '--cli', ...patient, '--format', 'json', '--quiet', ...args], { env });
  const { stdout, stderr, code = 0 } = await ran.catch((failed) => failed);
  const printed = stdout && JSON.parse(stdout.split('\n')[0]);
  return { code, stderr, result: printed?.result ?? printed };
}

const printConfig = async (server, client, ...options) => {
  const args = ['serve', server.bundle, '--print-config', client, ...options];
  return (await run(program, args)).stdout.trim();
};

const transports = [
  ['stdio', async (server) => ['--', program, ...server.stdio()]],
  ['http', async (server) => ['--transport', 'http', '--server-url', await server.http('--workdir', server.workdir)]],
];
const eras = [['legacy', '2025-11-25'], ['modern', '2026-07-28']];

describe('the Inspector', { concurrency: 4 }, () => {
  for (const [transport, target] of transports) {
    for (const [era, revision] of eras) {
      withServer(`lists and calls the tools (${transport}, ${revision})`, async (server) => {
        const to = ['--protocol-era', era];
        const at = await target(server);
        const names = (await server.catalog()).map((item) => item.name);
        const { result: { tools } } = await cli(server, ...to, '--method', 'tools/list', ...at);
        assert.deepEqual(tools.map((tool) => tool.name), names);

        const call = (tool, ...args) => cli(server, ...to, '--method', 'tools/call', '--tool-name', tool, ...args, ...at);
        const upper = await call('text__upper', '--tool-arg', 'text=abc');
        assert.equal(upper.code, 0, upper.stderr);
        assert.deepEqual(upper.result.structuredContent, { text: 'ABC' });
        const failed = await call('text__fail', '--tool-args-json', '{"length": 3, "code": "MINE"}');
        assert.notEqual(failed.code, 0);
        assert.equal(failed.result.isError, true);
        assert.match(failed.result.content[0].text, /CODE: MINE/);
      });
    }
  }

  withServer('the schemas are portable', async (server) => {
    const { code, stderr } = await cli(server, '--method', 'tools/list', '--strict', '--', program, ...server.stdio());
    assert.equal(code, 0, stderr);
  });

  withServer('the configuration of Cursor starts the server and reaches it over HTTP', async (server) => {
    const list = async (config) => {
      const file = join(server.top, 'mcp.json');
      await writeFile(file, config);
      return cli(server, '--config', file, '--server', 'toolhost', '--method', 'tools/list');
    };
    const names = (await server.catalog()).map((item) => item.name);
    const stdio = await list(await printConfig(server, 'cursor', '--workdir', server.workdir));
    assert.deepEqual(stdio.result?.tools.map((tool) => tool.name), names, stdio.stderr);

    const { tokens, url, address } = await withTokens(server);
    const http = JSON.parse(await printConfig(server, 'cursor', '--http', address, '--tokens', tokens));
    assert.equal(http.mcpServers.toolhost.url, url);
    // Cursor replaces the variable. The Inspector does not.
    const { headers } = http.mcpServers.toolhost;
    assert.equal(headers.Authorization, 'Bearer ${env:TOOLHOST_TOKEN}');
    http.mcpServers.toolhost.type = 'streamable-http';
    assert.notEqual((await list(JSON.stringify(http))).code, 0);
    headers.Authorization = `Bearer ${token}`;
    const reached = await list(JSON.stringify(http));
    assert.deepEqual(reached.result?.tools.map((tool) => tool.name), names, reached.stderr);
  });

  withServer('the printed command starts the Inspector with the server', async (server) => {
    const stdio = await web(server, await printConfig(server, 'inspector', '--workdir', server.workdir));
    const config = JSON.parse(await printConfig(server, 'cursor', '--workdir', server.workdir));
    const { command, args, type } = stdio.mcpServers.toolhost ?? Object.values(stdio.mcpServers)[0];
    assert.deepEqual({ command, args }, config.mcpServers.toolhost);
    assert.equal(type, 'stdio');

    const { tokens, url, address } = await withTokens(server);
    const printed = await printConfig(server, 'inspector', '--http', address, '--tokens', tokens);
    const [http] = Object.values((await web(server, printed)).mcpServers);
    assert.equal(http.url, url);
    assert.match(JSON.stringify(http), new RegExp(`Bearer ${token}`));
    // The same options reach the server by the Inspector's command line.
    const options = printed.replace(/^npx @modelcontextprotocol\/inspector /, '');
    const line = `"${process.execPath}" "${inspector}" --cli ${patient.join(' ')} --method tools/list ${options}`;
    const { stdout } = await run('sh', ['-c', line], { env: { ...process.env, HOME: server.top, TOOLHOST_TOKEN: token } });
    assert.match(stdout, /text__upper/);
  });
});

/** Starts a server that needs a token. */
async function withTokens(server) {
  const tokens = join(server.top, 'tokens');
  await writeFile(tokens, `* ${token}\n`);
  await chmod(tokens, 0o600);
  const url = await server.http('--workdir', server.workdir, '--tokens', tokens);
  return { tokens, url, address: new URL(url).host };
}

/** A port of loopback that is free now. */
async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  return String(port);
}

/** Runs a printed command as a shell does, and returns the servers that the Inspector's page gets. */
async function web(server, command) {
  const [CLIENT_PORT, MCP_SANDBOX_PORT, MCP_APP_ORIGIN_PORT] = [await freePort(), await freePort(), await freePort()];
  const child = spawn('sh', ['-c', `exec ${command}`], {
    cwd: packages,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PATH: [packages, process.env.PATH].join(delimiter),
      HOME: server.top,
      MCP_AUTO_OPEN_ENABLED: 'false',
      MCP_INSPECTOR_SECRET_STORE: 'memory',
      TOOLHOST_TOKEN: token,
      npm_config_offline: 'true',
      npm_config_update_notifier: 'false',
      CLIENT_PORT, MCP_SANDBOX_PORT, MCP_APP_ORIGIN_PORT,
    },
  });
  const ended = once(child, 'exit');
  // Ends npx and what it started when standard input ends: also when this process was killed.
  const guard = spawn('sh', ['-c', `cat > /dev/null; kill -KILL -${child.pid}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const printed = [];
  child.stderr.on('data', (data) => printed.push(data));
  const page = new Promise((resolve) => child.stdout.on('data', (data) => {
    printed.push(data);
    const found = `${printed.join('')}\n`.match(/(http:\/\/\S+)\?MCP_INSPECTOR_API_TOKEN=(\S+)\s/);
    if (found) resolve(found);
  }));
  try {
    const found = await Promise.race([page, ended.then(() => undefined), sleep(deadline, undefined, { ref: false })]);
    assert.ok(found, `no page: ${printed.join('')}`);
    const [, origin, key] = found;
    const answer = await fetch(`${origin}/api/servers`, { headers: { 'x-mcp-remote-auth': `Bearer ${key}` } });
    return await answer.json();
  } finally {
    guard.stdin.end();
    await once(guard, 'exit');
    await ended;
  }
}

// `toolhost serve` for the tests: the binary of $TOOLHOST, and the guests of $TOOLHOST_GUESTS. The packages
// are in $TOOLHOST_MCP_CLIENTS.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const fixture = join(import.meta.dirname, '..');
export const program = process.env.TOOLHOST;
export const packages = process.env.TOOLHOST_MCP_CLIENTS;
const components = ['text', 'sleep_forever', 'write_bytes', 'flood_log'];

/** Milliseconds for all that waits for the server. It may have to compile the components. */
export const deadline = 60_000;

/** Arguments of `files__run` with which it writes to /f until it is stopped. */
export const endless = { path: '/f', bytes: 1e9, chunk: 1, mode: 'append' };

/** Imports a package that is not installed beside this file. */
export async function installed(name) {
  const { resolve } = createRequire(join(packages, 'package.json'));
  const found = resolve(name);
  // `require` finds the CommonJS build of a package that has both.
  return import(pathToFileURL(found));
}

/** Runs a program to its end. Fails if it takes longer than the deadline. */
export const run = (file, args, options) => {
  return promisify(execFile)(file, args, { timeout: deadline, killSignal: 'SIGKILL', ...options });
};

/** A test with a bundle of guests and a workdir. */
export function withServer(name, use) {
  test(name, { timeout: 2 * deadline }, async () => {
    const top = await mkdtemp(join(tmpdir(), 'toolhost-mcp-client-'));
    const server = new Server(top);
    try {
      await server.prepare();
      await use(server);
    } finally {
      await server.end();
      await rm(top, { recursive: true });
    }
  });
}

/** A bundle of guests, and the servers that are started with it. */
export class Server {
  /** @type {import('node:child_process').ChildProcess[]} */
  #processes = [];

  constructor(top) {
    Object.assign(this, { top, bundle: join(top, 'bundle'), workdir: join(top, 'workdir') });
  }

  async prepare() {
    await mkdir(this.bundle);
    await mkdir(this.workdir);
    const copies = components.map((name) => [join(process.env.TOOLHOST_GUESTS, `${name}.wasm`), `${name}.wasm`]);
    copies.push([join(fixture, 'goondan.yaml'), 'goondan.yaml']);
    for (const [from, to] of copies) await copyFile(from, join(this.bundle, to));
  }

  /** Arguments of a server over stdio. */
  stdio(...options) {
    return this.#args('--quiet', '--workdir', this.workdir, ...options);
  }

  #args(...options) {
    return ['serve', this.bundle, ...options];
  }

  /** Starts a server over HTTP and returns its URL. It ends with the test, and with this process. */
  async http(...options) {
    const args = this.#args('--http', '127.0.0.1:0', ...options);
    const child = spawn('sh', [join(fixture, 'serve.sh'), program, ...args], {
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    this.#processes.push(child);
    const lines = createInterface(child.stderr);
    const [url] = await Promise.race([
      new Promise((resolve) => lines.on('line', (line) => {
        const found = line.match(/listening on (http:\S+)/);
        if (found) resolve([found[1]]);
      })),
      once(child, 'exit').then(() => []),
      sleep(deadline, [], { ref: false }),
    ]);
    assert.ok(url, 'the server does not listen');
    return url;
  }

  async end() {
    for (const child of this.#processes) {
      const ended = child.exitCode === null ? once(child, 'exit') : undefined;
      child.stdin.end();
      await ended;
    }
  }

  async written() {
    const found = await stat(join(this.workdir, 'f')).catch(() => ({ size: 0 }));
    return found.size;
  }

  /** Waits until the endless call writes. */
  async untilItWrites() {
    const before = await this.written();
    for (let waited = 0; waited < deadline; waited += 10) {
      if (await this.written() >= before + 100) return;
      await sleep(10);
    }
    assert.fail('the guest does not write');
  }

  /** Fails if the endless call goes on for more than a moment. */
  async assertStopped() {
    for (let tries = 0; tries < 50; tries += 1) {
      const before = await this.written();
      await sleep(100);
      if (await this.written() === before) return;
    }
    assert.fail('the guest runs on');
  }

  /** The catalog that the command line prints. */
  async catalog() {
    const { stdout } = await run(program, ['list', this.bundle, '--json']);
    return JSON.parse(stdout);
  }
}

/** A server's gauge of running calls. */
export async function callsInFlight(url) {
  const metrics = await (await fetch(new URL('/metrics', url))).text();
  const found = metrics.match(/^\S*calls_in_flight (\d+)$/m);
  assert.ok(found, metrics);
  return Number(found[1]);
}

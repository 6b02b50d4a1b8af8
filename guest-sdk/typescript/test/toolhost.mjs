// Builds modules into components and calls them through the host.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const SDK = fileURLToPath(new URL('..', import.meta.url));
export const WIT = process.env.TOOLHOST_WIT ?? path.join(SDK, '../../wit');

/** The host's binary; without it only what needs no host is tested. */
export const TOOLHOST = process.env.TOOLHOST;
export const needsHost = { skip: TOOLHOST ? false : 'TOOLHOST does not name a toolhost binary' };

const STARLINGMONKEY = path.join(SDK, 'build/starlingmonkey/node_modules');

/** The engines, each with what its tests need. */
export const ENGINES = Object.entries({
  qjs: needsHost,
  starlingmonkey: existsSync(STARLINGMONKEY) ? needsHost : { skip: `${STARLINGMONKEY} is not installed` },
});

export function fixture(name) {
  return path.join(SDK, 'test/fixtures', name);
}

export function temporary() {
  return mkdtemp(path.join(tmpdir(), 'toolhost-ts-'));
}

/** Returns the handlers of a fixture, for Node. */
export async function inNode(name) {
  const esbuild = createRequire(new URL('../build/package.json', import.meta.url))('esbuild');
  const { outputFiles } = await esbuild.build({ entryPoints: [fixture(name)], bundle: true, platform: 'node', format: 'esm', write: false, target: 'node20' });
  const file = path.join(await temporary(), 'fixture.mjs');
  await writeFile(file, outputFiles[0].text);
  return (await import(pathToFileURL(file))).handlers;
}

/** Runs build.mjs and returns its answer with its exit code. */
export async function build(entry, out, ...more) {
  const args = [path.join(SDK, 'build.mjs'), '--entry', entry, '--out', out, '--wit', WIT, '--json', ...more];
  const { code, stdout, stderr } = await run(process.execPath, args);
  if (stdout === '') throw new Error(stderr);
  return { code, ...JSON.parse(stdout) };
}

/** Lays out `index.ts` with this text, and other files, in a folder of its own. */
export async function sources(text, files = {}) {
  const folder = await temporary();
  await lay({ 'index.ts': text, ...files }, folder);
  return folder;
}

/** Writes files, by their paths from a folder. */
export async function lay(files, folder = '/') {
  for (const [name, content] of Object.entries(files)) {
    const file = path.resolve(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

export async function buildText(text, files, ...more) {
  const folder = await sources(text, files);
  return build(path.join(folder, 'index.ts'), path.join(folder, 'tool.wasm'), ...more);
}

/** A built component as the Tool `t` of a bundle, with a working directory and caches of its own. */
export class Tool {
  static async of(entry, exports, ...more) {
    const folder = await temporary();
    const answer = await build(entry, path.join(folder, 'tool.wasm'), ...more);
    if (!answer.ok) throw new Error(JSON.stringify(answer.errors));
    const names = exports.map((name) => `{ name: ${name} }`).join(', ');
    const manifest = `apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: t }
spec:
  entry: ./tool.wasm
  exports: [${names}]
`;
    await writeFile(path.join(folder, 'goondan.yaml'), manifest);
    return new Tool(folder, answer);
  }

  constructor(folder, answer) {
    this.folder = folder;
    this.answer = answer;
    this.home = path.join(folder, 'home');
  }

  /** Calls a handler and returns the ToolResult; `log` is what the host says beside it. */
  async call(handler, args = {}, workdir, ...more) {
    const directory = workdir ?? (await temporary());
    const text = typeof args === 'string' ? args : JSON.stringify(args);
    const command = ['call', this.folder, `t__${handler}`, '--args', text, '--workdir', directory, ...more];
    const { stdout, stderr } = await run(TOOLHOST, command, { HOME: this.home, RUST_LOG: 'trace' });
    if (stdout === '') throw new Error(stderr);
    return Object.defineProperty(JSON.parse(stdout), 'log', { value: stderr });
  }

  /** The same with a policy, as text. */
  async callWith(policy, handler, args, workdir, ...more) {
    const file = path.join(await temporary(), 'policy.yaml');
    await writeFile(file, policy);
    return this.call(handler, args, workdir, '--policy', file, ...more);
  }

  async output(handler, args, workdir) {
    const result = await this.call(handler, args, workdir);
    if (result.status !== 'ok') throw new Error(JSON.stringify(result));
    return result.output;
  }

  async error(handler, args, workdir) {
    const result = await this.call(handler, args, workdir);
    if (result.status !== 'error') throw new Error(JSON.stringify(result));
    return result.error;
  }
}

/** Runs a program to its end, whatever it returns. */
export function run(program, args, { cwd, ...env } = {}) {
  return new Promise((resolve, reject) => {
    const options = { cwd, env: { PATH: process.env.PATH, ...env }, maxBuffer: 64 << 20 };
    execFile(program, args, options, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') reject(error);
      else resolve({ code: error?.code ?? 0, stdout, stderr });
    });
  });
}


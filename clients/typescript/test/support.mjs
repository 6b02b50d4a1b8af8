// Servers for the tests: the binary of $TOOLHOST, and the bundle and guests of this repository.
import { existsSync, rmSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';

export const repository = fileURLToPath(new URL('../../../', import.meta.url));
export const program = process.env.TOOLHOST ?? 'toolhost';

const directories = [];
process.on('exit', () => directories.forEach((path) => rmSync(path, { recursive: true, force: true })));

/** A directory that is removed after the tests. */
export async function directory() {
  const path = await mkdtemp(join(tmpdir(), 'toolhost-client-'));
  directories.push(path);
  return path;
}

/** A bundle of guests: text, a guest that writes until it is stopped, and one that answers `pending`. */
export async function bundle() {
  const dir = await directory();
  const tools = [['text', 'upper,fail'], ['write_bytes', 'run'], ['pending', 'run']];
  const documents = tools.map(([name, exports]) => {
    const spec = { entry: `./${name}.wasm`, exports: exports.split(',').map((name) => ({ name })) };
    return JSON.stringify({ apiVersion: 'goondan.ai/v1', kind: 'Tool', metadata: { name }, spec });
  });
  await writeFile(join(dir, 'goondan.yaml'), documents.join('\n---\n'));
  for (const [name] of tools) {
    await copyFile(join(repository, 'target/guests', `${name}.wasm`), join(dir, `${name}.wasm`));
  }
  return dir;
}

/** Adds the tool that runs programs in JavaScript to a bundle. Returns whether it is built. */
export async function addPrograms(dir) {
  const folder = join(repository, 'guest-examples/typescript/javascript');
  const component = join(folder, '.toolhost/javascript.wasm');
  if (!existsSync(component)) return false;
  await copyFile(component, join(dir, 'javascript.wasm'));
  const [tool] = (await readFile(join(folder, 'goondan.yaml'), 'utf8')).split('\n---\n');
  const manifest = join(dir, 'goondan.yaml');
  const others = await readFile(manifest, 'utf8');
  await writeFile(manifest, `${others}\n---\n${tool.replace('./index.ts', './javascript.wasm')}`);
  return true;
}

/** A call that writes to /f until it is stopped. */
export const endless = {
  id: 'endless',
  name: 'write_bytes__run',
  args: { path: '/f', bytes: 1e9, chunk: 1, mode: 'append' },
};

const size = async (file) => (await stat(file).catch(() => ({ size: 0 }))).size;

/** Waits until the endless call writes. */
export async function untilItWrites(workdir) {
  for (let waited = 0; (await size(join(workdir, 'f'))) < 100; waited += 10) {
    if (waited > 20_000) throw new Error('the guest does not write');
    await sleep(10);
  }
}

/** Fails if the endless call goes on for more than a moment. */
export async function assertStopped(workdir) {
  for (let tries = 0; tries < 50; tries += 1) {
    const before = await size(join(workdir, 'f'));
    await sleep(100);
    if ((await size(join(workdir, 'f'))) === before) return;
  }
  throw new Error('the guest runs on');
}

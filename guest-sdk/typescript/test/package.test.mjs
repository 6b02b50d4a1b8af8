// The package that a project gets for unit tests and editors, and the unit tests of a new project.
import assert from 'node:assert';
import { cp, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { SDK, lay, run, temporary } from './toolhost.mjs';

const require = createRequire(new URL('../build/package.json', import.meta.url));

/** Lays out the template with its package, as `toolhost new` does. */
async function project() {
  const folder = await temporary();
  await cp(path.join(SDK, 'template'), folder, { recursive: true });
  const target = path.join(folder, '.toolhost/sdk/typescript');
  await mkdir(target, { recursive: true });
  await cp(path.join(SDK, 'package'), target, { recursive: true });
  await cp(path.join(SDK, 'types.d.ts'), path.join(target, 'types.d.ts'));
  await mkdir(path.join(folder, 'node_modules'));
  await symlink('../.toolhost/sdk/typescript', path.join(folder, 'node_modules/toolhost'));
  return folder;
}

/** Node before 22.18 runs no TypeScript: it gets what that release makes of it. */
async function withoutTypes(folder, ...names) {
  if (process.features.typescript) return;
  for (const name of names) {
    const { code } = await require('esbuild').transform(await readFile(path.join(folder, name), 'utf8'), { loader: 'ts', format: 'esm' });
    await writeFile(path.join(folder, name.replace(/\.ts$/, '.mjs')), code.replace(/(from '\.\/\w+)\.ts'/g, "$1.mjs'").replace(/(from "\.\/\w+)\.ts"/g, '$1.mjs"'));
    await rm(path.join(folder, name));
  }
}

test('the unit tests of a new project pass in Node', async () => {
  const folder = await project();
  await withoutTypes(folder, 'index.ts', 'index.test.ts');
  const { code, stdout } = await run(process.execPath, ['--test'], { HOME: folder, cwd: folder });
  assert.strictEqual(code, 0, stdout);
  assert.match(stdout, /pass 2/);
});

test('a handler of `tool` reads its schema in Node as in a component', async () => {
  const folder = await project();
  await lay({
    'schema.mjs': `import toolhost, { pending, tool } from 'toolhost';
      import { request } from 'toolhost/agents';
      const input = { '~standard': { version: 1, vendor: 'test', validate: ({ n }) => (n > 0 ? { value: { n: n * 2 } } : { issues: [{ message: 'too small', path: ['n'] }] }) } };
      const twice = tool({ input, run: async (ctx, { n }) => n });
      const said = [toolhost.tool === tool, await twice({}, { n: 2 }), pending('job 1').handle];
      for (const fails of [() => twice({}, { n: 0 }), () => request({}), () => pending('')]) {
        try { await fails(); } catch ({ code, message }) { said.push(code ?? message.slice(0, 9)); }
      }
      console.log(JSON.stringify(said));`,
  }, folder);
  const { stdout, stderr } = await run(process.execPath, [path.join(folder, 'schema.mjs')]);
  assert.strictEqual(stdout, '[true,4,"job 1","INVALID_INPUT","NOT_HERE","pending()"]\n', stderr);
});

test('editors find the types of the package, also before npm has installed anything', async () => {
  const folder = await project();
  const check = () => run(process.execPath, [require.resolve('typescript/bin/tsc'), '-p', folder]);
  const { code, stdout } = await check();
  assert.strictEqual(code, 0, stdout);
  for (const [text, says] of [
    ["import { toool } from 'toolhost';", /no exported member( named)? 'toool'/],
    ["import { ToolContext } from 'toolhost';", /type-only import/],
    ['enum Direction { Up }', /erasableSyntaxOnly/],
  ]) {
    await lay({ 'more.ts': `${text}\nexport {};` }, folder);
    assert.match((await check()).stdout, says);
  }
});

test('npm makes the same link, whether toolhost has built or not', async () => {
  const folder = await project();
  const sdk = path.join(folder, '.toolhost');
  for (const isBuilt of [true, false]) {
    if (!isBuilt) await rename(sdk, `${sdk}-away`);
    await rm(path.join(folder, 'node_modules'), { recursive: true });
    const { code, stderr } = await run('npm', ['ci', '--offline', '--no-audit', '--no-fund', '--prefix', folder], { HOME: folder });
    assert.strictEqual(code, 0, stderr);
    if (!isBuilt) await rename(`${sdk}-away`, sdk);
    await lay({ 'a.mjs': "import { tool } from 'toolhost';\nconsole.log(typeof tool);" }, folder);
    assert.strictEqual((await run(process.execPath, [path.join(folder, 'a.mjs')])).stdout, 'function\n');
  }
});

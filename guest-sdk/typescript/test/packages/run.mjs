// Builds a tool with each package of cases.mjs, calls it, and compares with what the handler does in Node.
// usage: TOOLHOST=<binary> node run.mjs [--work DIR] [--engine qjs|starlingmonkey] [--docs FILE] [NAME…]
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';
import { Tool } from '../toolhost.mjs';
import { CASES } from './cases.mjs';

const { build } = createRequire(new URL('../../build/package.json', import.meta.url))('esbuild');

/** How many run at once. */
const AT_ONCE = 2;

const { values, positionals } = parseArgs({
  options: { work: { type: 'string' }, engine: { type: 'string', default: 'qjs' }, docs: { type: 'string' } },
  allowPositionals: true,
});
const work = values.work ?? path.join(tmpdir(), 'toolhost-packages');
const cases = CASES.filter(([name]) => positionals.length === 0 || positionals.includes(name));

function npm(...args) {
  return new Promise((resolve, reject) => {
    execFile('npm', args, { cwd: work, maxBuffer: 64 << 20 }, (error, stdout, stderr) => (error ? reject(new Error(stderr)) : resolve(stdout)));
  });
}

async function install() {
  const names = new Set(cases.flatMap(([name, , , beside = '']) => [name, ...beside.split(' ').filter(Boolean)]));
  await mkdir(work, { recursive: true });
  await writeFile(path.join(work, 'package.json'), '{"private":true,"type":"module"}', { flag: 'wx' }).catch(() => {});
  const there = JSON.parse(await readFile(path.join(work, 'package.json'), 'utf8')).dependencies ?? {};
  const missing = [...names].filter((name) => !(name in there));
  if (missing.length > 0) await npm('install', '--ignore-scripts', '--no-audit', '--no-fund', '--legacy-peer-deps', ...missing);
}

async function versionOf(name) {
  return JSON.parse(await readFile(path.join(work, 'node_modules', name, 'package.json'), 'utf8')).version;
}

/** Returns what the handler does in Node, as JSON. */
async function inNode(entry, folder) {
  const outfile = path.join(folder, 'node.mjs');
  const require = `import { createRequire as ofNode } from 'node:module'; const require = ofNode(import.meta.url);`;
  await build({ entryPoints: [entry], bundle: true, platform: 'node', format: 'esm', outfile, banner: { js: require }, logLevel: 'silent' });
  const { handlers } = await import(pathToFileURL(outfile));
  return JSON.parse(JSON.stringify(await handlers.run()));
}

async function check([name, imports, body]) {
  const folder = path.join(work, 'tools', name.replaceAll('/', '~'));
  const entry = path.join(folder, 'index.js');
  await mkdir(folder, { recursive: true });
  await writeFile(entry, `${imports};\nexport const handlers = { run: async () => { ${body} } };\n`);
  const result = { name, version: await versionOf(name) };
  try {
    const expected = await inNode(entry, folder);
    const tool = await Tool.of(entry, ['run'], '--engine', values.engine);
    Object.assign(result, { bytes: tool.answer.bytes });
    const { status, output, error } = await tool.call('run');
    if (status !== 'ok') return { ...result, missing: `${error.name}: ${error.message}` };
    return isDeepStrictEqual(output, expected) ? result : { ...result, missing: `returned ${JSON.stringify(output)}, and in Node ${JSON.stringify(expected)}` };
  } catch (error) {
    return { ...result, missing: String(error?.message ?? error) };
  }
}

function row({ name, version, bytes, missing }) {
  const size = bytes ? (bytes / 1e6).toFixed(1) : '';
  return `| ${name} | ${version} | ${size} | ${missing ? missing.replace(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 160) : 'works'} |`;
}

await install();
const results = [];
const waiting = [...cases.entries()];
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, each] = next;
      results[index] = await check(each);
      console.log(row(results[index]));
    }
  }),
);
const working = results.filter(({ missing }) => !missing).length;
console.log(`${working} of ${results.length} work`);
if (values.docs) {
  const page = await readFile(values.docs, 'utf8');
  const table = ['| package | version | MB | |', '|---|---|---|---|', ...results.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(row)].join('\n');
  await writeFile(values.docs, page.replace(/(<!-- table -->\n)[^]*?(<!-- end -->)/, (_, start, end) => `${start}${table}\n${end}`));
}
process.exit(0);

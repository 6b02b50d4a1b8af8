// Writes the WIT world of one tool, based on the contract in --wit.
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

export const WORLD = 'component';

/** Interfaces that the runtime imports in addition to the contract's world. */
export const IMPORTS = [
  'wasi:cli/environment',
  'wasi:clocks/monotonic-clock',
  'wasi:filesystem/preopens',
  'wasi:filesystem/types',
  'wasi:random/random',
];

/** Those of a tool that uses `fetch`. */
export const HTTP = ['wasi:http/outgoing-handler', 'wasi:http/types', 'wasi:io/poll', 'wasi:io/streams'];

/** That of a tool that uses `ctx.tools`. */
export const TOOLS = ['wasi:io/poll', 'goondan:tool/tools'];

/** Returns the version of each package in a folder of WIT: `{"wasi:io": "0.2.12", …}`. */
export async function versionsOf(wit) {
  const files = [path.join(wit, 'tool.wit')];
  for (const name of await readdir(path.join(wit, 'deps'))) files.push(path.join(wit, 'deps', name));
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  const packages = texts.map((text) => /^package ([\w:-]+)@(.+);/m.exec(text)).filter(Boolean);
  return Object.fromEntries(packages.map(([, name, version]) => [name, version]));
}

/** Writes the world of a tool with these features to a folder for `use`, and removes it afterwards. `change` gets each text. */
export async function withWorld(wit, features, use, change = (text) => text) {
  const folder = await mkdtemp(path.join(tmpdir(), 'toolhost-wit-'));
  try {
    const deps = path.join(folder, 'deps');
    const copy = async (from, to) => writeFile(to, change(await readFile(from, 'utf8')));
    await mkdir(path.join(deps, 'goondan-tool'), { recursive: true });
    for (const name of await readdir(path.join(wit, 'deps'))) await copy(path.join(wit, 'deps', name), path.join(deps, name));
    await copy(path.join(wit, 'tool.wit'), path.join(deps, 'goondan-tool', 'tool.wit'));
    await writeFile(path.join(folder, 'world.wit'), change(world(features, await versionsOf(wit))));
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function world({ polling, agents, tools, fetch }, versions) {
  const of = (name) => `${name}@${versions[name.split('/')[0]]}`;
  const worlds = ['tool', ...(polling ? ['async-tool'] : []), ...(agents ? ['agent-tool'] : []), ...(tools ? ['composed-tool'] : [])];
  return [
    'package toolhost:build;',
    `world ${WORLD} {`,
    ...worlds.map((name) => `  include ${of(`goondan:tool/${name}`)};`),
    ...new Set([...IMPORTS, ...(fetch ? HTTP : []), ...(tools ? TOOLS : [])].map((name) => `  import ${of(name)};`)),
    '}',
    '',
  ].join('\n');
}

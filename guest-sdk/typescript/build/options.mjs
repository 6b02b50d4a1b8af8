// The command line.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { BuildFailure } from './failure.mjs';

export const USAGE = `usage: node build.mjs --entry index.ts --out tool.wasm --wit DIR [--root DIR] [--work DIR] [--engine qjs|starlingmonkey] [--check] [--json]

  --entry   the module that exports \`handlers\` (.ts, .tsx, .mts, .js, .jsx, .mjs)
  --out     where the component goes
  --wit     the contract: a folder with tool.wit and deps/
  --root    the folder of the bundle; default: that of the entry. Of files outside, only code and packages are imported
  --work    a folder that is kept from one build to the next; default: build/node_modules/.cache/toolhost
  --engine  default: qjs
  --check   finds errors without building; --out is not written
  --json    one line of JSON on stdout instead of text on stderr`;

/** Where packages of node keep what can be made again. */
const WORK = fileURLToPath(new URL('node_modules/.cache/toolhost', import.meta.url));

const ENGINES = ['qjs', 'starlingmonkey'];

export function parseOptions(args) {
  let values;
  try {
    const text = { type: 'string' };
    const flag = { type: 'boolean' };
    ({ values } = parseArgs({ args, options: { entry: text, out: text, wit: text, root: text, work: text, engine: text, check: flag, json: flag, help: flag } }));
  } catch (error) {
    throw usage(error.message);
  }
  if (values.help) return values;
  for (const name of ['entry', 'out', 'wit']) {
    if (!values[name]) throw usage(`--${name} is missing`);
    values[name] = path.resolve(values[name]);
  }
  values.root = path.resolve(values.root ?? path.dirname(values.entry));
  values.work = path.resolve(values.work ?? WORK);
  if (!existsSync(values.root)) throw usage(`--root ${values.root} does not exist`);
  if (values.engine && !ENGINES.includes(values.engine)) throw usage(`--engine ${values.engine}: there are ${ENGINES.join(' and ')}`);
  if (!existsSync(values.entry)) throw usage(`${values.entry} does not exist`);
  if (!existsSync(path.join(values.wit, 'tool.wit'))) throw usage(`--wit ${values.wit}: there is no tool.wit in it`);
  return values;
}

function usage(text) {
  return new BuildFailure('usage', { text, suggestion: '`--help` shows how to call it' });
}

// Makes the component of an engine, before it has loaded a tool, and keeps it for the next build.
import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { missingPackage } from './failure.mjs';
import { replaceFile } from './files.mjs';
import { HTTP, IMPORTS, TOOLS, versionsOf } from './wit.mjs';

const BUILD = fileURLToPath(new URL('.', import.meta.url));

const LOCKS = { qjs: 'package-lock.json', starlingmonkey: 'starlingmonkey/package-lock.json' };

/** What a tool may export, beside `handlers`. */
const POLLING = `export const polling = {
  poll: (context, handle) => tool.polling.poll(context, handle),
  cancel: (context, handle) => tool.polling.cancel(context, handle),
};`;

/** Returns the module of the engine: its first call loads the bundle of a tool. */
export async function engineModule(engine, { polling, agents, tools, fetch }, wit) {
  const versions = await versionsOf(wit);
  const optional = [...(fetch && engine === 'qjs' ? HTTP : []), ...(agents ? ['goondan:tool/agents'] : []), ...(tools ? TOOLS : [])];
  const names = [...new Set([...IMPORTS, 'wasi:logging/logging', ...optional])];
  const imports = names.map((name, index) => `import * as i${index} from ${JSON.stringify(`${name}@${versions[name.split('/')[0]]}`)};`);
  return `${imports.join('\n')}
const host = { ${names.map((name, index) => `${JSON.stringify(name)}: i${index}`).join(', ')} };
let tool;
function load(types, code) {
  try {
    const module = { exports: {} };
    (0, eval)(code)(module, module.exports, (name) => host[name], JSON.parse(types));
    tool = module.exports;
    return { tag: 'output', val: JSON.stringify({ exports: tool.exports, leftOut: tool.leftOut, absent: tool.absent }) };
  } catch (error) {
    const { stack, suggestion } = Object(error);
    return { tag: 'output', val: JSON.stringify({ failure: { message: String(error), stack: String(stack), suggestion } }) };
  }
}
export const handlers = {
  describe: () => tool.handlers.describe(),
  call: (name, context, input) => tool === undefined ? load(name, input) : tool.handlers.call(name, context, input),
};
${polling ? POLLING : ''}
`;
}

/**
 * Returns the component of an engine, before it has loaded a tool. Making it takes seconds, so it is kept in `work`.
 */
export async function engineComponent(engine, features, { wit, work }) {
  const code = await engineModule(engine, features, wit);
  const file = path.join(work, `${engine}-${await digestOf(JSON.stringify([features, code]), engine, wit)}.wasm`);
  const kept = await readFile(file).catch(() => undefined);
  if (kept) return kept;
  const { componentize } = await import(`./componentize-${engine}.mjs`).catch(missingPackage);
  const bytes = await componentize(code, features, wit);
  // Without a place for it, the next build makes it again.
  await replaceFile(file, bytes).catch(() => {});
  return bytes;
}

/** Returns a digest of what the component of an engine is made of. */
async function digestOf(code, engine, wit) {
  const own = [LOCKS[engine], `componentize-${engine}.mjs`, 'large-stack.mjs', 'own-table.mjs', 'stand-in.mjs', 'wit.mjs'].map((name) => path.join(BUILD, name));
  const deps = (await readdir(path.join(wit, 'deps'))).sort().map((name) => path.join('deps', name));
  const contract = ['tool.wit', ...deps].map((name) => path.join(wit, name));
  const texts = await Promise.all([...own, ...contract].map((file) => readFile(file, 'utf8')));
  return createHash('sha256').update(JSON.stringify([code, texts])).digest('hex').slice(0, 32);
}

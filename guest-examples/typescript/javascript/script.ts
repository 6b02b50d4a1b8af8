/** The export `script`: a program over the other tools of the step. */
import type { JsonObject, JsonValue, ToolContext } from 'toolhost';
import { ProgramConsole } from './console';
import { onceStuck, runningCalls } from 'toolhost/async';
import { neverSettles, scriptFailure, stillRunning } from './failure';
import { Loader } from './loader';
import { Output } from './output';
import { toResult } from './result';
import { Sources } from './sources';
import { failWith, guarded, turn } from './waiting';

interface Input {
  code: string;
  args?: JsonValue;
}

/** UTF-16 units of the log that are kept at its beginning, and at its end. */
const LOG_HALF = 8 << 10;

const FILE = '/[script]';

/** Made while the tool is built: a component has them when a call begins, and one call uses them. */
const log = new Output({ head: LOG_HALF, tail: LOG_HALF }, `the log keeps its first and its last ${LOG_HALF}`);
const sources = new Sources();
const globals = { tools: {}, args: null as JsonValue, console: new ProgramConsole(log, log) };
const loader = new Loader(sources, globals);

export async function script(ctx: ToolContext, { code, args = null }: Input): Promise<JsonObject> {
  globals.tools = ctx.tools;
  globals.args = args;
  onceStuck(() => failWith(neverSettles()));
  try {
    const value = await guarded(() => loader.entry(withoutFence(code), FILE, 'body'));
    const failed = loader.floating.find(({ outcome }) => outcome && 'reason' in outcome);
    if (failed?.outcome && 'reason' in failed.outcome) throw failed.outcome.reason;
    if (stillRunning(loader, sources)) {
      if (runningCalls().length === 0) await turn();
      const left = stillRunning(loader, sources);
      if (left) throw left;
    }
    const result = toResult(value);
    if (value === undefined && loader.note) log.write(`note: ${loader.note}\n`);
    const text = log.text();
    return { result, ...(text && { log: text }) };
  } catch (error) {
    throw scriptFailure(error, loader, /\btools\b/.test(code) ? globals.tools : undefined, log.text());
  }
}

/** Takes the code out of a fence of Markdown. Its lines keep their numbers. */
function withoutFence(code: string): string {
  const [, inner] = /^\s*```\w*[ \t]*\r?\n(.*?)\r?\n?```\s*$/s.exec(code) ?? [];
  return inner === undefined ? code : `\n${inner}`;
}

/** What programs are like, for `prepare`. */
const SAMPLE = `// A comment.
const { a = 1, ...rest } = args ?? {};
const list = await Promise.all([1, 2].map(async (n) => ({ n, text: \`\${n}\`.replace(/[a-z]+/g, '') })));
for (const { n } of list) {
  if (n > 1 && !rest.x) continue;
  try {
    console.log('seen %s', n);
  } catch (error) {
    throw new Error(error.message);
  }
}
async function main() {
  return list.filter((each) => each.n !== 2).length + 1;
}
return { result: await main() };
`;

/**
 * Does what each call does while the tool is built: what the engine and the parser make at their first use is then there
 * in each call.
 */
function prepare(): void {
  const unread = new Output({ head: LOG_HALF, tail: LOG_HALF });
  const sample = new Loader(new Sources(), { ...globals, console: new ProgramConsole(unread, unread) });
  void sample.entry(withoutFence(SAMPLE), FILE, 'body');
  toResult({ list: [1, 'a', null, true] });
}

prepare();

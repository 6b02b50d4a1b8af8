/** What a model gets where its script fails. */
import { inspect } from 'node:util';
import { ToolError } from 'toolhost';
import { isRunning, isUnawaited, placesOfAwaits, runningCalls } from 'toolhost/async';
import type { Loader } from './loader';
import { Misuse } from './misuse';
import { ParseError, type Frame, type Sources } from './sources';
import { shown } from './trace';
import { timersWithCalls } from './waiting';

const MAX_LINE = 160;
const MAX_SCHEMA = 600;
const MAX_LOG = 500;

/** Returns the error of a script that has ended before what it started. */
export function stillRunning({ floating, held }: Loader, sources: Sources): Misuse | undefined {
  const running = runningCalls();
  const suggestion = 'write `await` before it, or `await Promise.all([…])` around several; a list of calls made with `forEach` is not waited for: use `for … of`, or `map` with `Promise.all`';
  const [call, ...more] = running;
  if (call) {
    const others = more.length > 0 ? `, and ${more.length} other calls` : '';
    return new Misuse(`the script ended while tools[${JSON.stringify(call.name)}] was running${lineIn(sources, call.stack)}${others}`, suggestion, call.stack);
  }
  const left = floating.find(({ outcome }) => outcome === undefined);
  if (left) return new Misuse(`the script ended while the promise of line ${left.line} was pending`, suggestion);
  const { place } = held.find(({ promise }) => isRunning(promise)) ?? { place: placesOfAwaits()[0] };
  if (place) return new Misuse(`the script ended while a promise was left running${lineIn(sources, place)}`, suggestion, place);
  const timer = timersWithCalls()[0];
  if (!timer) return undefined;
  const stack = sources.stackOf(timer);
  return new Misuse(`the script ended before a timer that goes on with it${lineIn(sources, stack)}`, 'wait for it: `await new Promise((done) => setTimeout(done, 100));`, and then what the timer would do', stack);
}

/** Returns the error of a program that waits for what never comes. */
export function neverSettles(): Misuse {
  const message = 'the program waits for a promise that nothing settles any more: no call and no timer is left';
  return new Misuse(message, 'call its `resolve` or `reject` on every path', placesOfAwaits()[0]);
}

function lineIn(sources: Sources, stack: string | undefined): string {
  const [frame] = sources.frames(stack);
  return frame ? ` (line ${frame.line})` : '';
}

/** Returns the error of the tool for whatever a script threw. `tools`: none if it does not name them. */
export function scriptFailure(thrown: unknown, loader: Loader, tools: object | undefined, log: string): Error {
  const { sources } = loader;
  const name = thrown instanceof Error ? String(thrown.name) : 'Error';
  const place = thrown instanceof ParseError ? thrown.place : thrown instanceof Error ? sources.frames(thrown.stack)[0] : undefined;
  const lines = [textOf(thrown), ...(place ? [placeText(place)] : [])];
  if (log) lines.push(`log: ${log.length > MAX_LOG ? '…' : ''}${log.slice(-MAX_LOG).trimEnd()}`);
  return Object.assign(new Error(lines.join('\n')), { name, code: 'E_SCRIPT', suggestion: unawaited(thrown, loader) ?? suggestionFor(thrown, tools) });
}

function textOf(thrown: unknown): string {
  if (thrown instanceof ToolError) {
    const { tool, code, message } = thrown;
    return `ToolError${tool ? ` of ${tool}` : ''}${code ? `, ${code}` : ''}: ${message}`;
  }
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : `the script threw ${inspect(thrown)}`;
}

function placeText({ file, line, column, text }: Omit<Frame, 'name'>): string {
  const start = Math.max(0, Math.min(column - MAX_LINE / 2, text.length - MAX_LINE));
  const shownLine = text.slice(start, start + MAX_LINE).trim();
  return `${file === '/[script]' ? '' : `${shown(file)}, `}line ${line}, column ${column}: ${shownLine}`;
}

/** Says which `await` is missing, if a value may be a promise for this reason. */
function unawaited(thrown: unknown, { held, sources }: Loader): string | undefined {
  if (!(thrown instanceof TypeError)) return undefined;
  const places = [...runningCalls().map(({ promise, stack }) => ({ promise, place: stack })), ...held];
  const place = places.find(({ promise }) => isUnawaited(promise))?.place;
  const [frame] = sources.frames(place);
  return frame && `write \`await\` in line ${frame.line}, which has a promise: ${frame.text.trim().slice(0, MAX_LINE)}`;
}

function suggestionFor(thrown: unknown, tools: object | undefined): string {
  if (thrown instanceof ToolError) {
    const schema = thrown.parameters && JSON.stringify(thrown.parameters);
    const expected = schema ? `its parameters are ${schema.length > MAX_SCHEMA ? `${schema.slice(0, MAX_SCHEMA)}…` : schema}` : undefined;
    return [thrown.suggestion, expected].filter(Boolean).join('; ') || 'catch the error where the script can go on without this call';
  }
  if (thrown instanceof Misuse) return thrown.suggestion;
  if (thrown instanceof ParseError) return 'correct the code: it is JavaScript without types, the body of an async function';
  const [, missing] = (thrown instanceof ReferenceError && /^'?([\w$]+)'? is not defined/.exec(thrown.message)) || [];
  if (missing) return missingName(missing, tools);
  const { suggestion } = (thrown ?? {}) as { suggestion?: unknown };
  return typeof suggestion === 'string' ? suggestion : 'correct the script; tools.describe(name) tells what a tool takes and returns';
}

function missingName(name: string, tools: object | undefined): string {
  const exist = 'the globals are tools, args, console and those of JavaScript and the web, such as fetch and URL; modules of Node are imported';
  const meant = tools && isTool(name, tools) ? `tools.${name}` : nearest(name, ['tools', 'args', 'console', ...Object.getOwnPropertyNames(globalThis)]);
  return meant ? `did you mean ${meant}? ${exist}` : exist;
}

function isTool(name: string, tools: object): boolean {
  return ['call', 'search', 'describe', 'names', ...Object.keys(tools).map((each) => each.replaceAll('-', '_'))].some((each) => each === name || each.startsWith(`${name}__`));
}

/** Returns the name that is at most two edits away, and at most a third of its length. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  const lower = name.toLowerCase();
  let best: string | undefined;
  let least = Math.min(3, Math.floor(name.length / 3) + 1);
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const count = edits(lower, candidate.toLowerCase());
    if (count < least) [best, least] = [candidate, count];
  }
  return best;
}

function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[to.length]!;
}

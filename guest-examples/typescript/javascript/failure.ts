/** What a model gets where its script fails. */
import { inspect } from 'node:util';
import { ToolError } from 'toolhost';
import { runningCalls } from 'toolhost/async';
import type { Floating } from './loader';
import { ParseError, type Frame, type Sources } from './sources';
import { shown } from './trace';

const MAX_LINE = 160;
const MAX_SCHEMA = 600;
const MAX_LOG = 500;

/** A mistake that throws no exception. */
class Misuse extends Error {
  constructor(
    message: string,
    readonly suggestion: string,
    stack = '',
  ) {
    super(message);
    this.stack = stack;
  }
}

/** Throws where the script has ended before what it started. */
export function stillRunning(floating: readonly Floating[], sources: Sources): void {
  const running = runningCalls();
  if (running.length === 0 && floating.length === 0) return;
  const suggestion = 'write `await` before it, or `await Promise.all([…])` around several; a list of calls made with `forEach` is not waited for: use `for … of`, or `map` with `Promise.all`';
  const [call, ...more] = running;
  if (call) {
    const others = more.length > 0 ? `, and ${more.length} other calls` : '';
    throw new Misuse(`the script ended while tools[${JSON.stringify(call.name)}] was running${lineIn(sources, call.stack)}${others}`, suggestion, call.stack);
  }
  const left = floating.find(({ outcome }) => outcome === undefined);
  if (left) throw new Misuse(`the script ended while the promise of line ${left.line} was pending`, suggestion);
}

function lineIn(sources: Sources, stack: string | undefined): string {
  const [frame] = sources.frames(stack);
  return frame ? ` (line ${frame.line})` : '';
}

/** Returns the error of the tool for whatever a script threw. `tools`: none if it does not name them. */
export function scriptFailure(thrown: unknown, sources: Sources, tools: object | undefined, log: string): Error {
  const name = thrown instanceof Error ? String(thrown.name) : 'Error';
  const place = thrown instanceof ParseError ? thrown.place : thrown instanceof Error ? sources.frames(thrown.stack)[0] : undefined;
  const lines = [textOf(thrown), ...(place ? [placeText(place)] : [])];
  if (log) lines.push(`log: ${log.length > MAX_LOG ? '…' : ''}${log.slice(-MAX_LOG).trimEnd()}`);
  return Object.assign(new Error(lines.join('\n')), { name, code: 'E_SCRIPT', suggestion: suggestionFor(thrown, tools) });
}

function textOf(thrown: unknown): string {
  if (thrown instanceof ToolError) {
    const { tool, code, message, suggestion } = thrown;
    return `ToolError${tool ? ` of ${tool}` : ''}${code ? `, ${code}` : ''}: ${message}${suggestion ? ` (${suggestion})` : ''}`;
  }
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : `the script threw ${inspect(thrown)}`;
}

function placeText({ file, line, column, text }: Omit<Frame, 'name'>): string {
  const start = Math.max(0, Math.min(column - MAX_LINE / 2, text.length - MAX_LINE));
  const shownLine = text.slice(start, start + MAX_LINE).trim();
  return `${file === '/[script]' ? '' : `${shown(file)}, `}line ${line}, column ${column}: ${shownLine}`;
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
  try {
    return Reflect.get(tools, name) !== undefined;
  } catch {
    return false;
  }
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

/** An error of the result. */
export function notResult(path: string, why: string, suggestion: string): Error {
  return new Misuse(`the result is not JSON: ${path} is ${why}`, suggestion);
}

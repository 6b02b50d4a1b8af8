/** Logs where an error was thrown, by the author's files and lines. It is for `-v`; the model never gets it. */
import { console } from './console';

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The table of build/author-map.mjs. */
interface Sources {
  sources: string[];
  mappings: string;
}

/** A frame in the bundle: QuickJS prints `at name (<input>:1:2)`, StarlingMonkey `name@tool.js line 9 > eval:1:2`. */
const FRAME = /^\s*(?:at )?(.*?)[\s@(]*(?:<input>|\S+ line \d+ > eval):(\d+):(\d+)\)?$/;

const MAX_FRAMES = 20;

/** Writes the stack of an error to the log, at the level `debug`: a record for each line, as a record has one. */
export function logStack(thrown: unknown): void {
  try {
    if (!(thrown instanceof Error)) return;
    const frames = authorFrames(thrown.stack ?? '');
    if (frames.length === 0) return;
    console.debug('%s', `${thrown.name}: ${thrown.message}`);
    for (const frame of frames.slice(0, MAX_FRAMES)) console.debug('%s', `    at ${frame}`);
  } catch {
    // The tool may have replaced what this uses: its error counts.
  }
}

/** Returns the frames that lie in the author's files, such as `find (src/city.ts:12)`. */
function authorFrames(stack: string): string[] {
  const table = (globalThis as Record<symbol, unknown>)[Symbol.for('toolhost.sources')] as Sources | undefined;
  if (!table) return [];
  const frames: string[] = [];
  for (const text of stack.split('\n')) {
    const [, name = '', line, column] = FRAME.exec(text) ?? [];
    if (line === undefined) continue;
    const place = placeOf(table, Number(line) - 1, Number(column) - 1);
    if (place) frames.push(name && name !== '<anonymous>' ? `${name} (${place})` : place);
  }
  return frames;
}

/** Returns the author's file and line of a place in the code. */
function placeOf({ sources, mappings }: Sources, line: number, column: number): string | undefined {
  let [at, source, sourceLine] = [0, 0, 0];
  let found: string | undefined;
  let from = 0;
  for (let current = 0; current <= line; current += 1) {
    const end = mappings.indexOf(';', from);
    const segments = mappings.slice(from, end < 0 ? undefined : end);
    at = 0;
    for (const segment of segments ? segments.split(',') : []) {
      const [columns = 0, sourceBy, lineBy = 0] = decode(segment);
      at += columns;
      if (sourceBy !== undefined) [source, sourceLine] = [source + sourceBy, sourceLine + lineBy];
      if (current === line && at <= column) found = sourceBy === undefined ? undefined : `${sources[source]}:${sourceLine + 1}`;
    }
    if (end < 0) break;
    from = end + 1;
  }
  return found;
}

/** Decodes the numbers of a mapping: base-64 digits of five bits, the lowest first, and the sign last. */
function decode(segment: string): number[] {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value += (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

/** `console`, which writes to the output of the program. */
import { format, inspect } from 'node:util';
import type { Output } from './output';

type Args = unknown[];

export class ProgramConsole {
  #indent = '';
  #counts = new Map<string, number>();
  #starts = new Map<string, number>();

  constructor(
    readonly stdout: Output,
    readonly stderr: Output,
  ) {}

  #print(output: Output, args: Args): void {
    const text = format(...args);
    output.write(`${this.#indent}${text.replaceAll('\n', `\n${this.#indent}`)}\n`);
  }

  log = (...args: Args) => this.#print(this.stdout, args);
  info = this.log;
  debug = this.log;
  error = (...args: Args) => this.#print(this.stderr, args);
  warn = this.error;
  dir = (value: unknown, options?: { depth?: number | null }) => this.#print(this.stdout, [inspect(value, options)]);
  table = this.dir;
  trace = (...args: Args) => this.#print(this.stderr, [`Trace: ${format(...args)}`]);

  assert = (condition?: unknown, ...args: Args) => {
    if (!condition) this.error(...(args.length > 0 ? ['Assertion failed:', ...args] : ['Assertion failed']));
  };

  group = (...args: Args) => {
    if (args.length > 0) this.log(...args);
    this.#indent += '  ';
  };
  groupCollapsed = this.group;
  groupEnd = () => {
    this.#indent = this.#indent.slice(2);
  };

  count = (label = 'default') => {
    const count = (this.#counts.get(label) ?? 0) + 1;
    this.#counts.set(label, count);
    this.log(`${label}: ${count}`);
  };
  countReset = (label = 'default') => {
    this.#counts.delete(label);
  };

  time = (label = 'default') => {
    this.#starts.set(label, performance.now());
  };
  timeLog = (label = 'default', ...args: Args) => {
    const start = this.#starts.get(label);
    if (start !== undefined) this.log(`${label}: ${(performance.now() - start).toFixed(3)}ms`, ...args);
  };
  timeEnd = (label = 'default') => {
    this.timeLog(label);
    this.#starts.delete(label);
  };
}

export function replaceConsole(stdout: Output, stderr: Output): void {
  Object.assign(globalThis, { console: new ProgramConsole(stdout, stderr) });
}

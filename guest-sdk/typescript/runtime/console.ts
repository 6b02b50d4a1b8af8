/** `console` and `ctx.logger`: records for the operator's log, by `wasi:logging`. */
import { log, type Level } from 'wasi:logging/logging';
import { format, inspect } from './format';
import { noteUse } from './snapshot';
import { monotonic } from './web/clock';

/** The host keeps 4 KiB of a record. */
const MAX_RECORD_UNITS = 4_096;

let handler = '';

/** Sets the handler that runs: log records are grouped by it. */
export function logAs(name: string): void {
  handler = name;
}

class LogConsole {
  #indent = '';
  #counts = new Map<string, number>();
  #timers = new Map<string, bigint>();

  #write(level: Level, args: unknown[]): void {
    if (noteUse('the console')) return;
    const text = format(...args);
    const indented = this.#indent ? this.#indent + text.replaceAll('\n', `\n${this.#indent}`) : text;
    log(level, handler, indented.slice(0, MAX_RECORD_UNITS).toWellFormed());
  }

  debug = (...args: unknown[]) => this.#write('debug', args);
  log = (...args: unknown[]) => this.#write('info', args);
  info = (...args: unknown[]) => this.#write('info', args);
  warn = (...args: unknown[]) => this.#write('warn', args);
  error = (...args: unknown[]) => this.#write('error', args);
  dir = (value: unknown) => this.#write('info', [inspect(value)]);
  table = (rows: unknown) => this.#write('info', [inspect(rows)]);

  trace = (...args: unknown[]) => {
    const stack = new Error().stack?.trimEnd() ?? '';
    this.#write('trace', [`Trace: ${format(...args)}\n${stack}`]);
  };

  assert = (condition?: unknown, ...args: unknown[]) => {
    if (!condition) this.#write('error', args.length > 0 ? ['Assertion failed:', ...args] : ['Assertion failed']);
  };

  group = (...args: unknown[]) => {
    if (args.length > 0) this.#write('info', args);
    this.#indent += '  ';
  };
  groupCollapsed = this.group;
  groupEnd = () => {
    this.#indent = this.#indent.slice(2);
  };

  count = (label = 'default') => {
    const count = (this.#counts.get(label) ?? 0) + 1;
    this.#counts.set(label, count);
    this.#write('info', [`${label}: ${count}`]);
  };
  countReset = (label = 'default') => {
    this.#counts.delete(label);
  };

  time = (label = 'default') => {
    this.#timers.set(label, monotonic());
  };
  timeLog = (label = 'default', ...args: unknown[]) => {
    const start = this.#timers.get(label);
    if (start !== undefined) this.#write('info', [`${label}: ${Number(monotonic() - start) / 1e6}ms`, ...args]);
  };
  timeEnd = (label = 'default') => {
    this.timeLog(label);
    this.#timers.delete(label);
  };

  clear = () => {};
}

export const console = new LogConsole();

/** `process` and the standard streams of a program. */
import fs from 'node:fs';
import process from 'node:process';
import type { Output } from './output';

/** What `process.exit` throws. */
export class Exit extends Error {
  constructor(readonly exitCode: number) {
    super(`process.exit(${exitCode})`);
  }
}

interface ProgramProcess {
  exitCode?: number | string | undefined;
}

/** Gives `process` arguments and streams, and lets it end the program. */
export function replaceProcess(argv: string[], stdin: string, stdout: Output, stderr: Output): ProgramProcess {
  const stream = (output: Output) => ({
    isTTY: false,
    write(text: string | Uint8Array, ...rest: unknown[]): boolean {
      output.write(typeof text === 'string' ? text : new TextDecoder().decode(text));
      const done = rest.at(-1);
      if (typeof done === 'function') queueMicrotask(() => done());
      return true;
    },
    end(text?: string | Uint8Array) {
      if (text !== undefined) this.write(text);
    },
    on() {
      return this;
    },
    once() {
      return this;
    },
  });
  const ours = {
    argv,
    stdin: input(stdin),
    stdout: stream(stdout),
    stderr: stream(stderr),
    exit(code?: number | string): never {
      throw new Exit(Number(code ?? program.exitCode ?? 0) & 0xff);
    },
  };
  const program = Object.assign(process as unknown as ProgramProcess, ours);
  readStdin(stdin);
  return program;
}

function input(text: string) {
  return {
    isTTY: false,
    setEncoding() {
      return this;
    },
    resume() {
      return this;
    },
    on(event: string, listen: (text?: string) => void) {
      if (event === 'data' && text) queueMicrotask(() => listen(text));
      if (event === 'end' || event === 'close') setTimeout(() => listen(), 0);
      return this;
    },
    async *[Symbol.asyncIterator]() {
      if (text) yield text;
    },
  };
}

/** Lets `fs.readFileSync(0)` and that of `/dev/stdin` return the input. */
function readStdin(text: string): void {
  const files = fs as unknown as { readFileSync(path: unknown, options?: unknown): unknown };
  const read = files.readFileSync;
  files.readFileSync = (path, options) => {
    if (path !== 0 && path !== '/dev/stdin') return read(path, options);
    return options === undefined || options === null ? Buffer.from(text) : text;
  };
}

/** `process`: the environment the operator grants, and a working directory that is always `/`. */
import { getEnvironment } from 'wasi:cli/environment';
import { decodeUtf8 } from 'toolhost:engine';
import { monotonic } from '../web/clock';
import { noteUse } from '../snapshot';

let granted: Record<string, string> | undefined;

/** Returns the environment, the same object throughout a call. */
export function environment(): Record<string, string> {
  if (noteUse('the environment')) return {};
  granted ??= Object.fromEntries(getEnvironment());
  return granted;
}

function hrtime(since?: [number, number]): [number, number] {
  const now = monotonic() - (since ? BigInt(since[0]) * 1_000_000_000n + BigInt(since[1]) : 0n);
  return [Number(now / 1_000_000_000n), Number(now % 1_000_000_000n)];
}
hrtime.bigint = monotonic;

/** What is written goes to the log. */
function output(fd: number, log: (text: string) => void) {
  return {
    fd,
    isTTY: false,
    writable: true,
    write(data: string | Uint8Array, ...rest: unknown[]): boolean {
      log(typeof data === 'string' ? data.replace(/\n$/, '') : decodeUtf8(data).replace(/\n$/, ''));
      const done = rest.at(-1);
      if (typeof done === 'function') queueMicrotask(() => done());
      return true;
    },
    end: () => {},
    on: () => {},
    once: () => {},
    emit: () => false,
    removeListener: () => {},
  };
}

const process = {
  get env() {
    return environment();
  },
  stdout: output(1, (text) => console.info(text)),
  stderr: output(2, (text) => console.error(text)),
  stdin: { fd: 0, isTTY: false, on: () => {}, once: () => {} },
  title: 'toolhost',
  argv0: 'toolhost',
  execPath: '/toolhost',
  release: { name: 'node' },
  features: {},
  config: {},
  cwd: () => '/',
  argv: ['toolhost', '/tool'],
  execArgv: [] as string[],
  platform: 'wasi',
  arch: 'wasm32',
  pid: 1,
  ppid: 0,
  exitCode: undefined,
  version: 'v20.0.0',
  versions: { node: '20.0.0' },
  hrtime,
  uptime: () => performance.now() / 1000,
  nextTick: (task: (...args: unknown[]) => void, ...args: unknown[]) => queueMicrotask(() => task(...args)),
  on: () => process,
  once: () => process,
  off: () => process,
  addListener: () => process,
  removeListener: () => process,
  removeAllListeners: () => process,
  listeners: () => [],
  listenerCount: () => 0,
  emit: () => false,
  memoryUsage: Object.assign(() => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }), { rss: () => 0 }),
  cpuUsage: () => ({ user: 0, system: 0 }),
  umask: () => 0o22,
  abort(): never {
    return process.exit();
  },
  emitWarning: (warning: unknown) => console.warn(String(warning)),
  chdir(): never {
    throw new Error('process.chdir: the working directory of a tool is always /');
  },
  exit(): never {
    const error = new Error('process.exit: a tool ends by returning a value or throwing an error');
    throw Object.assign(error, { code: 'ERR_PROCESS_EXIT' });
  },
};

export default process;

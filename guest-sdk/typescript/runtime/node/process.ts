/** `process`: the environment the operator grants, and a working directory that is always `/`. */
import { getEnvironment } from 'wasi:cli/environment';
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

const process = {
  get env() {
    return environment();
  },
  cwd: () => '/',
  argv: ['toolhost', '/tool'],
  execArgv: [] as string[],
  platform: 'wasi',
  arch: 'wasm32',
  pid: 1,
  exitCode: undefined,
  version: 'v20.0.0',
  versions: { node: '20.0.0' },
  hrtime,
  uptime: () => performance.now() / 1000,
  nextTick: (task: (...args: unknown[]) => void, ...args: unknown[]) => queueMicrotask(() => task(...args)),
  on: () => process,
  once: () => process,
  off: () => process,
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

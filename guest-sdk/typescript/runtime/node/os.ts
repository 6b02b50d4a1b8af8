/** `node:os`: constants, and a directory for temporary files within the working directory. */
import { existsSync, mkdirSync } from '../fs/tree';

export default {
  EOL: '\n',
  devNull: '/dev/null',
  platform: () => 'wasi',
  type: () => 'WASI',
  arch: () => 'wasm32',
  release: () => '0.2',
  hostname: () => 'localhost',
  homedir: () => '/',
  cpus: () => [],
  constants: { signals: {}, errno: {} },
  version: () => 'WASI 0.2',
  machine: () => 'wasm32',
  loadavg: () => [0, 0, 0],
  networkInterfaces: () => ({}),
  totalmem: () => 256 * 2 ** 20,
  freemem: () => 128 * 2 ** 20,
  uptime: () => 0,
  userInfo: () => ({ uid: -1, gid: -1, username: 'tool', homedir: '/', shell: null }),
  availableParallelism: () => 1,
  endianness: () => 'LE',
  /** Makes the directory: nothing else does. */
  tmpdir(): string {
    if (!existsSync('/tmp')) mkdirSync('/tmp');
    return '/tmp';
  },
};

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
  availableParallelism: () => 1,
  endianness: () => 'LE',
  /** Makes the directory: nothing else does. */
  tmpdir(): string {
    if (!existsSync('/tmp')) mkdirSync('/tmp');
    return '/tmp';
  },
};

/** `fs.Dir`: the entries of a directory one by one. */
import type { PathLike } from './root';
import type { Dirent } from './stats';
import { readdirSync } from './tree';

class Dir {
  readonly #entries: Dirent[];

  constructor(readonly path: string) {
    this.#entries = (readdirSync(path, { withFileTypes: true }) as Dirent[]).reverse();
  }

  readSync(): Dirent | null {
    return this.#entries.pop() ?? null;
  }

  async read(): Promise<Dirent | null> {
    return this.readSync();
  }

  closeSync(): void {}

  async close(): Promise<void> {}

  async *[Symbol.asyncIterator](): AsyncGenerator<Dirent> {
    for (let entry = this.readSync(); entry; entry = this.readSync()) yield entry;
  }
}

export function opendirSync(path: PathLike): Dir {
  return new Dir(String(path));
}

/** `fs.Stats` and `fs.Dirent`. */
import type { Datetime, DescriptorStat, DescriptorType } from 'wasi:filesystem/types';

/** File type and permission bits; WASI has no permissions, so these are the usual ones. */
const MODES: Partial<Record<DescriptorType, number>> = {
  directory: 0o040755,
  'regular-file': 0o100644,
  'symbolic-link': 0o120777,
};

class Typed {
  readonly #type: DescriptorType;

  constructor(type: DescriptorType) {
    this.#type = type;
  }

  isFile = () => this.#type === 'regular-file';
  isDirectory = () => this.#type === 'directory';
  isSymbolicLink = () => this.#type === 'symbolic-link';
  isFIFO = () => this.#type === 'fifo';
  isSocket = () => this.#type === 'socket';
  isBlockDevice = () => this.#type === 'block-device';
  isCharacterDevice = () => this.#type === 'character-device';
}

export class Stats extends Typed {
  readonly dev = 0;
  readonly ino = 0;
  readonly uid = 0;
  readonly gid = 0;
  readonly rdev = 0;
  readonly blksize = 4096;
  readonly blocks: number;
  readonly mode: number;
  readonly nlink: number;
  readonly size: number;
  readonly atimeMs: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly birthtimeMs: number;
  readonly atime: Date;
  readonly mtime: Date;
  readonly ctime: Date;
  readonly birthtime: Date;

  constructor(stat: DescriptorStat) {
    super(stat.type);
    this.mode = MODES[stat.type] ?? 0;
    this.nlink = Number(stat.linkCount);
    this.size = Number(stat.size);
    this.blocks = Math.ceil(this.size / 512);
    this.atimeMs = milliseconds(stat.dataAccessTimestamp);
    this.mtimeMs = milliseconds(stat.dataModificationTimestamp);
    this.ctimeMs = milliseconds(stat.statusChangeTimestamp);
    this.birthtimeMs = this.ctimeMs;
    this.atime = new Date(this.atimeMs);
    this.mtime = new Date(this.mtimeMs);
    this.ctime = new Date(this.ctimeMs);
    this.birthtime = new Date(this.birthtimeMs);
  }
}

function milliseconds(time: Datetime | null | undefined): number {
  return time ? Number(time.seconds) * 1000 + time.nanoseconds / 1e6 : 0;
}

export class Dirent extends Typed {
  constructor(
    readonly name: string,
    readonly parentPath: string,
    type: DescriptorType,
  ) {
    super(type);
  }

  get path(): string {
    return this.parentPath;
  }
}

/** Lists, creates, moves and removes files, folders and links. */
import { randomFraction } from '../web/random';
import { u64 } from 'toolhost:engine';
import { constants } from './constants';
import { readBytes, writeFileSync } from './content';
import { attempt, SystemError } from './errors';
import { beneath, pathText, release, root, type PathLike } from './root';
import { Dirent, Stats } from './stats';

interface StatOptions {
  throwIfNoEntry?: boolean;
}

export function statSync(path: PathLike, options: StatOptions = {}): Stats | undefined {
  return look('stat', path, true, options);
}

export function lstatSync(path: PathLike, options: StatOptions = {}): Stats | undefined {
  return look('lstat', path, false, options);
}

function look(syscall: string, path: PathLike, symlinkFollow: boolean, options: StatOptions): Stats | undefined {
  const name = pathText(path);
  try {
    return new Stats(attempt(syscall, name, () => root().statAt({ symlinkFollow }, beneath(name))));
  } catch (error) {
    if (options.throwIfNoEntry === false && codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof SystemError ? error.code : undefined;
}

export function existsSync(path: PathLike): boolean {
  const name = pathText(path);
  const directory = root();
  try {
    directory.statAt({ symlinkFollow: true }, beneath(name));
    return true;
  } catch {
    return false;
  }
}

const { F_OK, R_OK, W_OK, X_OK, COPYFILE_EXCL } = constants;

/**
 * Throws unless the tool may use a file as `mode` says. WASI tells no permissions: whether a file can be read or
 * written is found by opening it. No file can be executed.
 */
export function accessSync(path: PathLike, mode: number = F_OK): void {
  const name = pathText(path);
  checkMode(mode);
  attempt('access', name, () => {
    const { type } = root().statAt({ symlinkFollow: true }, beneath(name));
    if (mode & W_OK && !root().getFlags().mutateDirectory) throw new SystemError('read-only', 'access', name);
    const isFile = type === 'regular-file';
    if (mode & X_OK && type !== 'directory') throw new SystemError('access', 'access', name);
    const access = { read: (mode & R_OK) !== 0, write: isFile && (mode & W_OK) !== 0 };
    if ((isFile || type === 'directory') && (access.read || access.write)) {
      release(root().openAt({ symlinkFollow: true }, beneath(name), {}, access));
    }
  });
}

function checkMode(mode: unknown): void {
  if (typeof mode !== 'number') {
    const error = new TypeError(`The "mode" argument must be of type number. Received ${typeof mode}`);
    throw Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' });
  }
  const all = R_OK | W_OK | X_OK;
  if (Number.isInteger(mode) && mode >= F_OK && mode <= all) return;
  const error = new RangeError(`The value of "mode" is out of range. It must be an integer >= ${F_OK} && <= ${all}. Received ${mode}`);
  throw Object.assign(error, { code: 'ERR_OUT_OF_RANGE' });
}

/** Makes a folder. With `recursive` also those above it; then returns the first it made. */
export function mkdirSync(path: PathLike, options?: number | { recursive?: boolean }): string | undefined {
  const name = pathText(path);
  const make = (each: string) => attempt('mkdir', name, () => root().createDirectoryAt(beneath(each)));
  if (typeof options !== 'object' || !options?.recursive) {
    make(name);
    return undefined;
  }
  let first: string | undefined;
  let parent = name.startsWith('/') ? '/' : '';
  for (const part of name.split('/').filter(Boolean)) {
    const each = parent + part;
    parent = `${each}/`;
    if (part === '.' || isDirectory(each)) continue;
    try {
      make(each);
      first ??= each;
    } catch (error) {
      if (codeOf(error) === 'EEXIST' && each !== name) throw new SystemError('not-directory', 'mkdir', name);
      throw error;
    }
  }
  return first;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

interface ReaddirOptions {
  withFileTypes?: boolean;
  recursive?: boolean;
}

export function readdirSync(path: PathLike, options?: string | null | ReaddirOptions): (string | Dirent)[] {
  const name = pathText(path);
  const { withFileTypes, recursive } = typeof options === 'object' && options !== null ? options : {};
  const out: (string | Dirent)[] = [];
  const visit = (folder: string, prefix: string) => {
    for (const entry of entriesOf(folder)) {
      out.push(withFileTypes ? entry : prefix + entry.name);
      if (recursive && entry.isDirectory()) visit(joined(folder, entry.name), `${prefix}${entry.name}/`);
    }
  };
  visit(name, '');
  return out;
}

/** Returns what is in a folder, by name. */
function entriesOf(folder: string): Dirent[] {
  return attempt('scandir', folder, () => {
    const directory = root().openAt({ symlinkFollow: true }, beneath(folder), { directory: true }, { read: true });
    try {
      const stream = directory.readDirectory();
      try {
        const entries: Dirent[] = [];
        for (let entry = stream.readDirectoryEntry(); entry; entry = stream.readDirectoryEntry()) {
          if (entry.name !== '.' && entry.name !== '..') entries.push(new Dirent(entry.name, folder, entry.type));
        }
        return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
      } finally {
        release(stream);
      }
    } finally {
      release(directory);
    }
  });
}

function joined(folder: string, name: string): string {
  return folder.endsWith('/') ? folder + name : `${folder}/${name}`;
}

export function rmSync(path: PathLike, options: { recursive?: boolean; force?: boolean } = {}): void {
  const name = pathText(path);
  try {
    if (!lstatSync(name)!.isDirectory()) return unlinkSync(name);
  } catch (error) {
    if (options.force && codeOf(error) === 'ENOENT') return;
    throw error;
  }
  if (!options.recursive) throw new SystemError('is-directory', 'rm', name);
  for (const entry of entriesOf(name)) rmSync(joined(name, entry.name), options);
  rmdirSync(name);
}

export function rmdirSync(path: PathLike): void {
  const name = pathText(path);
  attempt('rmdir', name, () => root().removeDirectoryAt(beneath(name)));
}

export function unlinkSync(path: PathLike): void {
  const name = pathText(path);
  attempt('unlink', name, () => root().unlinkFileAt(beneath(name)));
}

export function renameSync(from: PathLike, to: PathLike): void {
  const [old, now] = [pathText(from), pathText(to)];
  attempt('rename', old, () => root().renameAt(beneath(old), root(), beneath(now)), now);
}

export function copyFileSync(from: PathLike, to: PathLike, mode = 0): void {
  const [old, now] = [pathText(from), pathText(to)];
  attempt('copyfile', old, () => writeFileSync(now, readBytes(old), { flag: mode & COPYFILE_EXCL ? 'wx' : 'w' }), now);
}

interface CopyOptions {
  recursive?: boolean;
  force?: boolean;
  errorOnExist?: boolean;
}

export function cpSync(from: PathLike, to: PathLike, options: CopyOptions = {}): void {
  const [old, now] = [pathText(from), pathText(to)];
  const found = lstatSync(old)!;
  if (found.isDirectory()) {
    if (!options.recursive) throw new SystemError('is-directory', 'cp', old);
    if (`${beneath(now)}/`.startsWith(`${beneath(old)}/`)) throw new SystemError('invalid', 'cp', old, now);
    mkdirSync(now, { recursive: true });
    for (const entry of entriesOf(old)) cpSync(joined(old, entry.name), joined(now, entry.name), options);
    return;
  }
  if (options.force === false && existsSync(now)) {
    if (options.errorOnExist) throw new SystemError('exist', 'cp', old, now);
    return;
  }
  const parent = now.slice(0, Math.max(now.lastIndexOf('/'), 0));
  if (parent) mkdirSync(parent, { recursive: true });
  if (found.isSymbolicLink()) symlinkSync(readlinkSync(old), now);
  else copyFileSync(old, now);
}

/** Makes a folder whose name is `prefix` and six random characters, and returns its path. */
export function mkdtempSync(prefix: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  const suffix = Array.from({ length: 6 }, () => letters[Math.floor(randomFraction() * letters.length)]);
  const name = prefix + suffix.join('');
  attempt('mkdtemp', `${prefix}XXXXXX`, () => root().createDirectoryAt(beneath(name)));
  return name;
}

export function linkSync(from: PathLike, to: PathLike): void {
  const [old, now] = [pathText(from), pathText(to)];
  attempt('link', old, () => root().linkAt({}, beneath(old), root(), beneath(now)), now);
}

export function symlinkSync(target: PathLike, path: PathLike): void {
  const [to, name] = [pathText(target), pathText(path)];
  attempt('symlink', to, () => root().symlinkAt(to, beneath(name)), name);
}

export function readlinkSync(path: PathLike): string {
  const name = pathText(path);
  return attempt('readlink', name, () => root().readlinkAt(beneath(name)));
}

/** As many links as Linux follows on the way to a file. */
const MAX_LINKS = 40;

export function realpathSync(path: PathLike): string {
  const name = pathText(path);
  let todo = name.split('/');
  const done: string[] = [];
  for (let links = 0; todo.length > 0; ) {
    const part = todo.shift()!;
    if (part === '' || part === '.') continue;
    if (part === '..') {
      done.pop();
      continue;
    }
    const each = [...done, part].join('/');
    const stat = attempt('realpath', name, () => root().statAt({}, each));
    if (stat.type !== 'symbolic-link') {
      done.push(part);
      continue;
    }
    links += 1;
    if (links > MAX_LINKS) throw new SystemError('loop', 'realpath', name);
    const target = attempt('realpath', name, () => root().readlinkAt(each));
    if (target.startsWith('/')) done.length = 0;
    todo = target.split('/').concat(todo);
  }
  return `/${done.join('/')}`;
}

type Time = number | string | Date;

export function utimesSync(path: PathLike, accessed: Time, modified: Time): void {
  const name = pathText(path);
  attempt('utime', name, () => root().setTimesAt({ symlinkFollow: true }, beneath(name), timestamp(accessed), timestamp(modified)));
}

/** A number is seconds, as in Node. */
function timestamp(time: Time): { tag: 'timestamp'; val: { seconds: number | bigint; nanoseconds: number } } {
  const ms = time instanceof Date ? time.getTime() : Number(time) * 1000;
  if (!Number.isFinite(ms) || ms < 0) throw new SystemError('invalid', 'utime');
  const seconds = Math.floor(ms / 1000);
  return { tag: 'timestamp', val: { seconds: u64(seconds), nanoseconds: Math.round((ms - seconds * 1000) * 1e6) } };
}

/** Does nothing to a file that exists: WASI has no permissions. */
export function chmodSync(path: PathLike, _mode: number | string): void {
  statSync(path);
}

/** Does nothing to a file that exists: WASI has no owners. */
export function chownSync(path: PathLike, _user: number, _group: number): void {
  statSync(path);
}

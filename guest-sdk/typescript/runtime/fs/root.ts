/** The tool's one directory, and paths beneath it. */
import { getDirectories } from 'wasi:filesystem/preopens';
import type { Descriptor } from 'wasi:filesystem/types';
import { refuseAtBuild } from '../snapshot';
import { decodeUtf8 } from 'toolhost:engine';
import { SystemError } from './errors';

export type PathLike = string | URL | Uint8Array;

let opened: Descriptor | undefined;

/** Returns the directory the host gives to this call. */
export function root(): Descriptor {
  refuseAtBuild('the file system is used');
  opened ??= getDirectories()[0]?.[0];
  if (opened === undefined) throw new SystemError('access', 'open', '/');
  return opened;
}

/** Returns a path as text, as errors name it. */
export function pathText(path: PathLike): string {
  if (typeof path === 'string') return checked(path);
  if (path instanceof Uint8Array) return checked(decodeUtf8(path));
  if (typeof path === 'object' && path !== null && 'href' in path) {
    const { protocol, pathname } = path as URL;
    if (protocol !== 'file:') throw Object.assign(new TypeError('The URL must be of scheme file'), { code: 'ERR_INVALID_URL_SCHEME' });
    return checked(decodeURIComponent(pathname));
  }
  const error = new TypeError(`The "path" argument must be of type string or an instance of Buffer or URL. Received ${typeof path}`);
  throw Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' });
}

function checked(path: string): string {
  if (!path.includes('\0')) return path;
  throw Object.assign(new TypeError('The "path" argument must be a string without null bytes'), { code: 'ERR_INVALID_ARG_VALUE' });
}

/**
 * Returns a path as the host takes it, relative to the root. `..` stays: where it leads depends on
 * links, which the host follows and checks.
 */
export function beneath(path: string): string {
  return path.replace(/^\/+/, '') || (path === '' ? '' : '.');
}

/** Closes a descriptor or stream; a call may have 256. */
export function release(resource: { [Symbol.dispose]?(): void }): void {
  resource[Symbol.dispose]?.();
}

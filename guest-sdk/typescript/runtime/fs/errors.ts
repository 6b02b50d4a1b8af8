/** Errors as Node makes them: `ENOENT: no such file or directory, open 'x'`. */

/** By the name WASI gives an error: Node's code, its number on Linux, its text. */
const ERRORS: Record<string, [code: string, errno: number, text: string]> = {
  access: ['EACCES', 13, 'permission denied'],
  'bad-descriptor': ['EBADF', 9, 'bad file descriptor'],
  busy: ['EBUSY', 16, 'resource busy or locked'],
  'cross-device': ['EXDEV', 18, 'cross-device link not permitted'],
  exist: ['EEXIST', 17, 'file already exists'],
  'file-too-large': ['EFBIG', 27, 'file too large'],
  'illegal-byte-sequence': ['EILSEQ', 84, 'illegal byte sequence'],
  'insufficient-memory': ['ENOMEM', 12, 'not enough memory'],
  'insufficient-space': ['ENOSPC', 28, 'no space left on device'],
  invalid: ['EINVAL', 22, 'invalid argument'],
  io: ['EIO', 5, 'i/o error'],
  'is-directory': ['EISDIR', 21, 'illegal operation on a directory'],
  loop: ['ELOOP', 40, 'too many symbolic links encountered'],
  'name-too-long': ['ENAMETOOLONG', 36, 'name too long'],
  'no-entry': ['ENOENT', 2, 'no such file or directory'],
  'not-directory': ['ENOTDIR', 20, 'not a directory'],
  'not-empty': ['ENOTEMPTY', 39, 'directory not empty'],
  'not-permitted': ['EPERM', 1, 'operation not permitted'],
  quota: ['EDQUOT', 122, 'disk quota exceeded'],
  'read-only': ['EROFS', 30, 'read-only file system'],
  'text-file-busy': ['ETXTBSY', 26, 'text file is busy'],
  'too-many-links': ['EMLINK', 31, 'too many links'],
  unsupported: ['ENOTSUP', 95, 'operation not supported on socket'],
  'would-block': ['EAGAIN', 11, 'resource temporarily unavailable'],
};

/** Codes of operations that the host denies. */
const DENIED = ['EACCES', 'EPERM', 'EROFS'];

/** Suggestions for errors whose text has none. */
const SUGGESTIONS: Record<string, string> = {
  EPERM: 'use a path within the working directory, without `..` and without links that lead out of it',
  ENOENT: 'see which files there are; paths are relative to the working directory',
  EROFS: 'do not try again; write elsewhere in the working directory',
  ENOSPC: 'write less: what was written may be incomplete',
};

export class SystemError extends Error {
  readonly errno: number;
  readonly code: string;
  readonly syscall: string;
  readonly path?: string;
  readonly dest?: string;
  readonly suggestion?: string;

  constructor(wasiCode: string, syscall: string, path?: string, dest?: string) {
    const [code, number, text] = ERRORS[wasiCode] ?? ['EIO', 5, `i/o error (${wasiCode})`];
    const places = [path, dest].filter((place) => place !== undefined).map((place) => `'${place}'`);
    super(`${code}: ${text}, ${[syscall, places.join(' -> ')].join(' ').trimEnd()}`);
    this.errno = -number;
    this.code = code;
    this.syscall = syscall;
    if (path !== undefined) this.path = path;
    if (dest !== undefined) this.dest = dest;
    const suggestion = SUGGESTIONS[code];
    if (suggestion !== undefined) this.suggestion = suggestion;
  }

  get isDenied(): boolean {
    return DENIED.includes(this.code);
  }
}

/** Runs one host call and converts its error code to Node's error. */
export function attempt<T>(syscall: string, path: string, act: () => T, dest?: string): T {
  try {
    return act();
  } catch (error) {
    throw translate(error, syscall, path, dest);
  }
}

/** The code arrives as it is, or as the payload of the engine's own error. */
function translate(error: unknown, syscall: string, path: string, dest?: string): unknown {
  if (error instanceof SystemError) return error;
  const code = typeof error === 'string' ? error : (error as { payload?: unknown } | null)?.payload;
  return typeof code === 'string' ? new SystemError(code, syscall, path, dest) : error;
}

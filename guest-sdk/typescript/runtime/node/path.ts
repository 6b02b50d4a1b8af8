/** `node:path`, POSIX. */
import path from 'path-browserify';

export default Object.assign(path, { posix: path });

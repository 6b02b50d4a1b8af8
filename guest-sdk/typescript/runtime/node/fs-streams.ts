/** `node:fs` with streams of files. */
import { closeSync, openSync, readAt, writeSync } from '../fs/descriptors';
import type { PathLike } from '../fs/root';
import fs from './fs';
import { Buffer } from './buffer';
import stream from './stream';

interface Options {
  flags?: string;
  encoding?: string;
  fd?: number;
  start?: number;
  end?: number;
  highWaterMark?: number;
  autoClose?: boolean;
}

type Callback = (error?: unknown) => void;

const optionsOf = (options: string | Options = {}): Options => (typeof options === 'string' ? { encoding: options } : options);

/** Opens and closes the file of a stream. */
function openBy(flag: string, path: PathLike, { flags = flag, fd, autoClose = true }: Options) {
  return {
    construct(this: any, done: Callback) {
      try {
        this.fd = fd ?? openSync(path, flags);
      } catch (error) {
        done(error);
        return;
      }
      this.emit('open', this.fd);
      this.emit('ready');
      done();
    },
    destroy(this: any, error: unknown, done: Callback) {
      if (autoClose && typeof this.fd === 'number') closeSync(this.fd);
      this.fd = null;
      done(error);
    },
  };
}

function createReadStream(path: PathLike, given?: string | Options): unknown {
  const options = optionsOf(given);
  const { start, end = Infinity, encoding, highWaterMark = 65_536 } = options;
  let at = start;
  let left = end - (start ?? 0) + 1;
  const readable = new stream.Readable({
    highWaterMark,
    encoding,
    ...openBy('r', path, options),
    read(this: any, size: number) {
      try {
        const bytes = left > 0 ? readAt(this.fd, Math.min(size, left), at) : new Uint8Array(0);
        if (at !== undefined) at += bytes.length;
        left -= bytes.length;
        this.bytesRead += bytes.length;
        this.push(bytes.length > 0 ? Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length) : null);
      } catch (error) {
        this.destroy(error);
      }
    },
  });
  return Object.assign(readable, { path, bytesRead: 0, close: (done?: Callback) => readable.destroy(null, done) });
}

function createWriteStream(path: PathLike, given?: string | Options): unknown {
  const options = optionsOf(given);
  let at = options.start;
  const writable = new stream.Writable({
    decodeStrings: true,
    defaultEncoding: options.encoding,
    ...openBy('w', path, options),
    write(this: any, chunk: Uint8Array, _: string, done: Callback) {
      try {
        writeSync(this.fd, chunk, 0, chunk.length, at);
        if (at !== undefined) at += chunk.length;
        this.bytesWritten += chunk.length;
        done();
      } catch (error) {
        done(error);
      }
    },
  });
  return Object.assign(writable, { path, bytesWritten: 0, close: (done?: Callback) => writable.end(done) });
}

export default { ...fs, createReadStream, createWriteStream };

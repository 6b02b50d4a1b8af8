/** `node:zlib` with its streams, each of which converts when it has all bytes. */
import { Buffer } from './buffer';
import stream from './stream';
import zlib, { conversions } from './zlib';

type Callback = (error?: unknown, chunk?: Uint8Array) => void;

const creators = Object.entries(conversions).map(([name, convert]) => [
  `create${name[0]!.toUpperCase()}${name.slice(1)}`,
  (options?: { level?: number }) => {
    const chunks: Uint8Array[] = [];
    return new stream.Transform({
      transform(chunk: Uint8Array, _: string, done: Callback) {
        chunks.push(chunk);
        done();
      },
      flush(done: Callback) {
        try {
          done(null, convert(Buffer.concat(chunks), options));
        } catch (error) {
          done(error);
        }
      },
    });
  },
]);

export default { ...zlib, ...(Object.fromEntries(creators) as Record<string, unknown>) };

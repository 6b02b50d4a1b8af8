/** Decodes the content codings `gzip` and `deflate`. */
import { Gunzip, Inflate, Unzlib } from 'fflate';
import type { Read } from './body';

/** The codings that `decoded` knows, for `Accept-Encoding`. */
export const CODINGS = 'gzip, deflate';

type Decoder = Gunzip | Inflate | Unzlib;

/** Returns the body without the codings of a `Content-Encoding`, the last of which is the outermost. */
export function decoded(read: Read, codings: string): Read {
  const names = codings.toLowerCase().split(',').map((each) => each.trim());
  return names.reverse().reduce(withoutCoding, read);
}

function withoutCoding(read: Read, coding: string): Read {
  if (coding === '' || coding === 'identity') return read;
  if (coding === 'gzip' || coding === 'x-gzip') return decodedBy(() => new Gunzip(), read);
  // Some servers send deflate without the header of zlib.
  if (coding === 'deflate') return decodedBy(([first = 0]) => ((first & 15) === 8 ? new Unzlib() : new Inflate()), read);
  return () => Promise.reject(new TypeError(`fetch failed: the response has the content coding ${coding}, which is none of ${CODINGS}`));
}

function decodedBy(start: (first: Uint8Array) => Decoder, read: Read): Read {
  let decoder: Decoder | undefined;
  let isDone = false;
  const out: Uint8Array[] = [];
  return async () => {
    while (out.length === 0 && !isDone) {
      const chunk = await read();
      if (chunk?.length === 0) continue;
      isDone = chunk === undefined;
      // An empty body, as a response to HEAD has.
      if (!decoder && chunk === undefined) break;
      decoder ??= start(chunk!);
      decoder.ondata = (data) => {
        if (data.length > 0) out.push(data);
      };
      try {
        decoder.push(chunk ?? new Uint8Array(0), isDone);
      } catch (error) {
        throw new TypeError(`fetch failed: the body is not in its content coding: ${String((error as Error).message)}`, { cause: error });
      }
    }
    return out.shift();
  };
}

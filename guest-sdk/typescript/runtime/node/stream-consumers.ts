/** `node:stream/consumers`. */
import { decodeUtf8, encodeUtf8 } from 'toolhost:engine';
import { Buffer } from './buffer';

type Source = AsyncIterable<Uint8Array | string>;

async function buffer(source: Source): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(typeof chunk === 'string' ? encodeUtf8(chunk) : chunk);
  return Buffer.concat(chunks);
}

async function text(source: Source): Promise<string> {
  return decodeUtf8(await buffer(source)).replace(/^\ufeff/, '');
}

export default {
  buffer,
  text,
  arrayBuffer: async (source: Source) => Uint8Array.from(await buffer(source)).buffer,
  blob: async (source: Source) => new Blob([(await buffer(source)) as BlobPart]),
  json: async (source: Source) => JSON.parse(await text(source)) as unknown,
};

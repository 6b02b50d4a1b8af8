/** Globals and functions of Node that programs may use: the build puts those into a component that its code names. */
import crypto from 'node:crypto';
import fs from 'node:fs';
import url from 'node:url';
import zlib from 'node:zlib';

const NAMED = {
  fetch,
  URL,
  structuredClone,
  DOMException,
  EventTarget,
  AbortController,
  Intl,
  ReadableStream,
  Blob,
  FormData,
  subtle: globalThis.crypto.subtle,
  // Of the larger modules of Node.
  createHash: crypto.createHash,
  createReadStream: fs.createReadStream,
  parse: url.parse,
  createGzip: zlib.createGzip,
};

for (const [name, value] of Object.entries(NAMED)) {
  if (value === undefined) throw new Error(`the component has no ${name}`);
}

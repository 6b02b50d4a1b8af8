// The modules of Node, Bun and toolhost that a tool may import, and alternatives to the others.
import { builtinModules } from 'node:module';

const refused = (name) => ({ file: 'refused.ts', name });

/**
 * By specifier without `node:`: the runtime's module, and the name of its export (default `default`). `larger` is bundled
 * in its place into tools whose code has one of the words.
 */
export const SERVED = {
  assert: { file: 'node/assert.ts' },
  'assert/strict': { file: 'node/assert-strict.ts' },
  async_hooks: { file: 'node/async-hooks.ts' },
  buffer: { file: 'node/buffer.ts' },
  bun: { file: 'bun.ts' },
  child_process: refused('childProcess'),
  constants: { file: 'fs/constants.ts', name: 'constants' },
  crypto: {
    file: 'node/crypto.ts',
    larger: { file: 'node/crypto-hashes.ts', words: /\b(KeyObject|create(Hash|Hmac|SecretKey|PublicKey|PrivateKey)|getHashes|hash|hkdf(Sync)?|pbkdf2(Sync)?|scrypt(Sync)?|subtle|webcrypto)\b/ },
  },
  dgram: refused('dgram'),
  diagnostics_channel: { file: 'node/small.ts', name: 'diagnosticsChannel' },
  dns: refused('dns'),
  'dns/promises': refused('dns'),
  events: { file: 'node/events.ts' },
  fs: { file: 'node/fs.ts', larger: { file: 'node/fs-streams.ts', words: /\b(createReadStream|createWriteStream|ReadStream|WriteStream)\b/ } },
  'fs/promises': { file: 'node/fs-promises.ts', name: '*' },
  http: refused('http'),
  http2: refused('http2'),
  https: refused('https'),
  module: { file: 'node/small.ts', name: 'module' },
  net: refused('net'),
  os: { file: 'node/os.ts' },
  path: { file: 'node/path.ts' },
  'path/posix': { file: 'node/path.ts' },
  perf_hooks: { file: 'node/perf-hooks.ts' },
  process: { file: 'node/process.ts' },
  querystring: { file: 'node/querystring.ts' },
  stream: { file: 'node/stream.ts' },
  'stream/consumers': { file: 'node/stream-consumers.ts' },
  'stream/promises': { file: 'node/stream-promises.ts' },
  'stream/web': { file: 'node/stream-web.ts' },
  string_decoder: { file: 'node/string-decoder.ts' },
  timers: { file: 'node/timers.ts' },
  'timers/promises': { file: 'node/timers-promises.ts' },
  tls: refused('tls'),
  tty: { file: 'node/small.ts', name: 'tty' },
  url: { file: 'node/url.ts', larger: { file: 'node/url-legacy.ts', words: /\b(parse|format|resolve|resolveObject|Url)\b/ } },
  util: { file: 'node/util.ts' },
  'util/types': { file: 'node/util-types.ts', name: 'types' },
  worker_threads: refused('workerThreads'),
  zlib: { file: 'node/zlib.ts', larger: { file: 'node/zlib-streams.ts', words: /\bcreate(Deflate|DeflateRaw|Gunzip|Gzip|Inflate|InflateRaw|Unzip)\b/ } },
  toolhost: { file: 'toolhost.ts' },
  'toolhost/agents': { file: 'agents.ts' },
  'toolhost/async': { file: 'async.ts', name: '*' },
  '@goondan/types': { file: 'toolhost.ts' },
  '@goondan/core': { file: 'toolhost.ts' },
};

/** Returns the file and the name of its export that serve a module to this code. */
export function servedBy(name, code) {
  const { larger, file, name: exported = 'default' } = SERVED[name];
  return { file: larger?.words.test(code) ? larger.file : file, name: exported };
}

/** What packages of the runtime import beside their own files: modules of the runtime. */
export const OF_PACKAGES = {
  'abort-controller': 'web/abort-controller.ts',
  'process/': 'node/process.ts',
  querystring: 'node/querystring.ts',
};

/** Globals that are bundled only into tools that name them. */
const GLOBALS = {
  'web/fetch/fetch.ts': /\bglobalThis\.fetch\b/,
  'web/url.ts': /\bURL(SearchParams)?\b/,
  'web/structured-clone.ts': /\bstructuredClone\b/,
  'web/dom-exception.ts': /\bDOMException\b/,
  'web/subtle.ts': /\b(subtle|CryptoKey)\b/,
  'web/event-target.ts': /\b(EventTarget|Event|CustomEvent)\b/,
  'web/abort.ts': /\bAbort(Controller|Signal)\b/,
  'web/intl.ts': /\bIntl\b|\btoLocale(Date|Time)?String\b|\blocaleCompare\b/,
  'web/streams.ts': /\b(Readable|Writable|Transform|TextDecoder|TextEncoder)Stream\b|QueuingStrategy\b/,
  'web/blob.ts': /\b(Blob|File)\b/,
  'web/form-data.ts': /\bFormData\b/,
  'web/fetch/classes.ts': /(\bnew |\binstanceof |\bextends |globalThis\.)(Headers|Request|Response)\b|\bResponse\.(json|error|redirect)\b|[{,](Headers|Request|Response)\b(?!["':(])/,
};

/** Packages whose entry for browsers needs a page, and whose other one needs no more than there is. */
export const WITHOUT_PAGE = /^(turndown|@mixmark-io\/domino)$/;

/** Returns the files with the globals that a bundle names. */
export function globalFiles(code) {
  return Object.keys(GLOBALS).filter((file) => GLOBALS[file].test(code));
}

/** Alternatives to modules that the sandbox does not have. */
const INSTEAD = {
  'bun:sqlite': 'keep data in files of the working directory, as JSON for instance',
  cluster: 'a tool runs on its own; there are no processes',
  readline: 'split the text of a file at "\\n"',
  sqlite: 'keep data in files of the working directory, as JSON for instance',
  v8: 'use structuredClone to copy values',
  vm: 'write the code in the module: it cannot run code in another context',
};

/** Returns the specifier under which `SERVED` lists a module. */
export function plainName(specifier) {
  return specifier.replace(/^node:/, '');
}

/** Whether a specifier names a module of Node or Bun rather than a package. */
export function isBuiltin(specifier) {
  return /^(node|bun):/.test(specifier) || builtinModules.includes(specifier);
}

/** Returns the error for a missing module, with an alternative. */
export function notServed(specifier) {
  const name = plainName(specifier);
  const served = Object.keys(SERVED).filter((each) => SERVED[each].file.startsWith('node/'));
  return {
    text: `the module "${specifier}" does not exist in the sandbox of a tool`,
    suggestion: INSTEAD[name] ?? `use ${served.join(', ')}, or packages that need only these`,
  };
}

// Says what the handlers of a module take and return. What it finds is kept with the digests of the files it read.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, statSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { replaceFileSync } from '../files.mjs';
import { loadCompiler, programOf } from './compiler.mjs';
import { handlersOf } from './handlers.mjs';
import { importsOf } from './imports.mjs';

/** Records that are kept: each is of one entry. */
const RECORDS_MAX = 100;

/**
 * Returns `{handlers, places, inputs, wrong, imported, warnings}`: the handlers in the form of handlers.mjs and where they stand,
 * the author's files that say their types, and what imports.mjs returns. The compiler runs beside what else a build does.
 */
export async function describeTypes(entry, work, signal) {
  const record = path.join(work, `types-${digestOf(entry)}.json`);
  const kept = read(record);
  if (kept && kept.files.every(([file, digest]) => digestOfFile(file) === digest)) return kept;
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('worker.mjs', import.meta.url), { workerData: { entry, work, record } });
    let isDone = false;
    worker.once('message', (types) => {
      isDone = true;
      resolve(types);
    });
    worker.once('error', (error) => (/MODULE_NOT_FOUND$/.test(error.code) ? reject(error) : resolve(unreadable(error))));
    // What it keeps for the next build it may still write.
    signal.addEventListener('abort', () => isDone || worker.terminate());
  });
}

/** A manifest may say all that a tool needs. */
function unreadable({ message }) {
  const warning = {
    text: `the types of the handlers cannot be read: ${message}`,
    suggestion: 'describe the parameters in the manifest, and report the types with which this happens',
  };
  return { handlers: [], places: {}, inputs: [], wrong: [], imported: [], warnings: [warning] };
}

/** The same in this thread. */
export function compileTypes(entry, work, record) {
  const { ts, keep } = loadCompiler(work);
  const read = new Map();
  const describe = (withPackages) => {
    const made = programOf(ts, entry, work, { files: read, withPackages });
    return { ...made, ...handlersOf(ts, made.program, entry, made.isAmbient) };
  };
  const alone = describe(false);
  const { program, isAmbient, missing, handlers, places, warnings } = alone.isWhole ? alone : describe(true);
  const sources = program.getSourceFiles().map(({ fileName }) => fileName);
  const inputs = sources.filter((file) => !isAmbient(file) && !file.includes('/node_modules/'));
  const files = [...sources, ...installed(path.dirname(entry))];
  const types = { handlers, places, inputs, ...importsOf(ts, program, inputs, path.dirname(entry)), warnings };
  const finish = () => {
    keep();
    // A file may come to be where there is none.
    if (missing.length > 0) return;
    replaceFileSync(record, JSON.stringify({ files: files.map((file) => [file, digestOfFile(file)]), ...types }));
    removeOldest(work);
  };
  return { types, finish };
}

/** Removes the records of entries that were built longest ago. */
function removeOldest(work) {
  const names = readdirSync(work).filter((name) => /^types-.*\.json$/.test(name));
  if (names.length <= RECORDS_MAX) return;
  const files = names.map((name) => path.join(work, name)).map((file) => [file, modified(file)]);
  files.sort(([, a], [, b]) => b - a);
  for (const [file] of files.slice(RECORDS_MAX)) remove(file);
}

/** 0 where another build has removed it. */
function modified(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function remove(file) {
  try {
    unlinkSync(file);
  } catch {
    // Another build was faster.
  }
}

/** Returns the files in which npm says what is installed, whether they exist or not. */
function installed(folder) {
  const file = path.join(folder, 'node_modules/.package-lock.json');
  return path.dirname(folder) === folder ? [file] : [file, ...installed(path.dirname(folder))];
}

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

function digestOfFile(file) {
  try {
    return digestOf(readFileSync(file));
  } catch {
    return '';
  }
}

function digestOf(content) {
  return createHash('sha256').update(content).digest('hex').slice(0, 32);
}

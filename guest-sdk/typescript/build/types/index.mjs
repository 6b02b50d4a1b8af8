// Says what the handlers of a module take and return. What it finds is kept with the digests of the files it read.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { replaceFileSync } from '../files.mjs';
import { loadCompiler, programOf } from './compiler.mjs';
import { handlersOf } from './handlers.mjs';

/** Returns `{handlers, inputs}`: the handlers in the form of handlers.mjs, and the author's files that say their types. The compiler runs beside what else a build does. */
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
  return { handlers: [], inputs: [], warnings: [warning] };
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
  const { program, isAmbient, missing, handlers } = alone.isWhole ? alone : describe(true);
  const sources = program.getSourceFiles().map(({ fileName }) => fileName);
  const inputs = sources.filter((file) => !isAmbient(file) && !file.includes('/node_modules/'));
  const files = [...sources, ...installed(path.dirname(entry))];
  const finish = () => {
    keep();
    // A file may come to be where there is none.
    if (missing.length === 0) replaceFileSync(record, JSON.stringify({ files: files.map((file) => [file, digestOfFile(file)]), handlers, inputs }));
  };
  return { types: { handlers, inputs }, finish };
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

/** `node:fs`: the synchronous calls, `promises`, and the same with callbacks. */
import { constants } from '../fs/constants';
import * as content from '../fs/content';
import * as descriptors from '../fs/descriptors';
import { opendirSync } from '../fs/dir';
import * as tree from '../fs/tree';
import { Dirent, Stats } from '../fs/stats';
import * as promises from './fs-promises';

type Callback = (error: unknown, value?: unknown) => void;

/** Returns a function that passes the result of `act` to its last argument, a callback. */
function withCallback(act: (...args: any[]) => Promise<unknown>): (...args: any[]) => void {
  return (...args) => {
    const callback = args.pop() as Callback;
    act(...args).then(
      (value) => queueMicrotask(() => callback(null, value)),
      (error) => queueMicrotask(() => callback(error)),
    );
  };
}

const callbacks = Object.fromEntries(
  Object.entries(promises)
    .filter(([, value]) => typeof value === 'function')
    .map(([name, act]) => [name, withCallback(act as (...args: any[]) => Promise<unknown>)]),
);

const { FileHandle: _handle, readAt: _read, ...ofDescriptors } = descriptors;

/** `open`, `close` and the other calls with the number of a file, with a callback. */
const ofNumbers = Object.fromEntries(
  Object.entries(ofDescriptors).map(([name, act]) => [name.replace('Sync', ''), withCallback(async (...args) => (act as (...args: any[]) => unknown)(...args))]),
);

const { readFileSync, writeFileSync, appendFileSync, truncateSync } = content;
const { codeOf: _, ...treeCalls } = tree;

function exists(path: string, callback: (found: boolean) => void): void {
  queueMicrotask(() => callback(tree.existsSync(path)));
}

export default {
  ...callbacks,
  ...ofNumbers,
  ...ofDescriptors,
  ...treeCalls,
  opendirSync,
  readFileSync,
  writeFileSync,
  appendFileSync,
  truncateSync,
  exists,
  constants,
  promises,
  Dirent,
  Stats,
};

// Maps an exception of top-level code, which runs while the component is built, to a place in the sources.
import { SourceMap } from 'node:module';
import { AUTHOR } from './bundle.mjs';
import { BuildFailure } from './failure.mjs';

/** A place in the bundle, as the two engines write it. */
const FRAME = /(?:<input>| > eval):(\d+):(\d+)/g;

/** `failure`: the `message`, `stack` and perhaps a `suggestion` of the exception. */
export function topLevelFailure({ message, stack, suggestion }, map) {
  const place = placeOf(stack, map);
  const general = place.file
    ? 'top-level code runs while the tool is built: it must not fail; move code that depends on a call into the handler'
    : 'correct what the module exports';
  const next = typeof suggestion === 'string' ? suggestion : general;
  return new BuildFailure('source', { text: message.replace(/^(Type)?Error: /, '').trim(), ...place, suggestion: next });
}

export function componentizerFailure(error) {
  return new BuildFailure('environment', {
    text: `the componentizer failed: ${String(error?.message ?? error).trim()}`,
    suggestion: 'if the message does not help, report it with the versions of node and toolhost',
  });
}

/** Returns the first frame that lies in the author's files. */
function placeOf(stack, map) {
  const sources = new SourceMap(map);
  for (const [, line, column] of stack.matchAll(FRAME)) {
    const { originalSource = '', originalLine, originalColumn } = sources.findEntry(Number(line) - 1, Number(column) - 1);
    const [, file] = originalSource.split(AUTHOR);
    if (file) return { file, line: originalLine + 1, column: originalColumn + 1 };
  }
  return {};
}

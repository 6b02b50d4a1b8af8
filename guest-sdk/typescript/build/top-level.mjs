// Maps an exception of top-level code, which runs while the component is built, to a place in the sources.
import { SourceMap } from 'node:module';
import { AUTHOR } from './bundle.mjs';
import { BuildFailure } from './failure.mjs';

/** The text that the componentizer puts before the message of an exception. */
const PREFIX = /^:?\s*Failed to evaluate user JavaScript module: Failed to finish JavaScript module evaluation:\s*/;

const FRAME = /componentize-qjs:user\.js:(\d+):(\d+)/g;

export function topLevelFailure(message, map) {
  if (!PREFIX.test(message)) {
    return new BuildFailure('environment', {
      text: `the componentizer failed: ${message.replace(/^:\s*/, '').trim()}`,
      suggestion: 'correct the tool; if the message does not help, report it with the sources of the tool',
    });
  }
  const [text] = message.replace(PREFIX, '').split(/\n\s+at /);
  return new BuildFailure('source', {
    text: text.replace(/^(Type)?Error: /, '').trim(),
    ...placeOf(message, map),
    suggestion: 'top-level code runs while the tool is built: it must not fail; move code that depends on a call into the handler',
  });
}

/** Returns the first frame that lies in the author's files. */
function placeOf(message, map) {
  const sources = new SourceMap(map);
  for (const [, line, column] of message.matchAll(FRAME)) {
    const { originalSource = '', originalLine, originalColumn } = sources.findEntry(Number(line) - 1, Number(column) - 1);
    const [, file] = originalSource.split(AUTHOR);
    if (file) return { file, line: originalLine + 1, column: originalColumn + 1 };
  }
  return {};
}

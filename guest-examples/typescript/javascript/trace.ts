/** What an error looks like on stderr. */
import { inspect } from 'node:util';

/** A frame of the engine's stack: `name@file:line:column`. The column is not that of the source, which was rewritten. */
const FRAME = /^(.*?)@(.*):(\d+):\d+$/;

/** Lines that the engine adds before the body of a function. */
const LINES_BEFORE = 2;

/** Returns name and message, and the frames that lie in files of the program. */
export function describe(error: unknown, files: ReadonlySet<string>): string {
  if (!(error instanceof Error)) return `Uncaught ${inspect(error)}`;
  const frames = (error.stack ?? '').split('\n').flatMap((line) => {
    const [, name = '', file = '', at] = FRAME.exec(line) ?? [];
    if (!files.has(file)) return [];
    const place = `${shown(file)}:${Number(at) - LINES_BEFORE}`;
    const called = name.replace(/^(async\*|\*)/, '');
    return [called && called !== 'anonymous' ? `    at ${called} (${place})` : `    at ${place}`];
  });
  const cause = error.cause === undefined ? '' : `\n[cause]: ${describe(error.cause, files)}`;
  return [`${error.name}: ${error.message}`, ...frames].join('\n') + cause;
}

/** A path as a model has it: relative to the workdir. */
export function shown(file: string): string {
  return file.replace(/^\//, '');
}

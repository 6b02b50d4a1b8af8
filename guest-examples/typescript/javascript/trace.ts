/** What an error looks like on stderr. */
import { inspect } from 'node:util';
import { ParseError, type Sources } from './sources';

/** Returns name and message, and the frames that lie in files of the program. */
export function describe(error: unknown, sources: Sources): string {
  if (!(error instanceof Error)) return `Uncaught ${inspect(error)}`;
  if (error instanceof ParseError) {
    const { file, line, column } = error.place;
    return `${error.name}: ${error.message}\n    at ${shown(file)}:${line}:${column}`;
  }
  const frames = sources.frames(error.stack).map(({ name, file, line }) => {
    const place = `${shown(file)}:${line}`;
    return name ? `    at ${name} (${place})` : `    at ${place}`;
  });
  const cause = error.cause === undefined ? '' : `\n[cause]: ${describe(error.cause, sources)}`;
  return [`${error.name}: ${error.message}`, ...frames].join('\n') + cause;
}

/** A path as a model has it: relative to the workdir. */
export function shown(file: string): string {
  return file.replace(/^\//, '');
}

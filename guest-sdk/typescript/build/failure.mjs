// The error of a build, as text and as JSON.

export const ExitCode = { Ok: 0, Source: 1, Usage: 2, Environment: 3 };

const EXIT_CODES = { source: ExitCode.Source, usage: ExitCode.Usage, environment: ExitCode.Environment };

export class BuildFailure extends Error {
  /** `kind`: `source` (the author's code), `usage`, `environment` (packages, disk, the componentizer). */
  constructor(kind, ...errors) {
    super(errors.map(({ text }) => text).join('; '));
    this.kind = kind;
    /** Each: `{text, file?, line?, column?, lineText?, suggestion?}`; lines and columns from 1. */
    this.errors = errors;
  }

  get exitCode() {
    return EXIT_CODES[this.kind];
  }

  static from(error) {
    if (error instanceof BuildFailure) return error;
    return new BuildFailure('environment', { text: error?.stack ?? String(error) });
  }
}

/** Returns one finding as lines of text. */
export function describe(severity, { text, file, line, column, lineText, suggestion }) {
  const place = file ? `${file}${line ? `:${line}:${column}` : ''}: ` : '';
  const lines = [`${place}${severity}: ${text}`];
  if (lineText) lines.push(`  ${lineText.trim()}`);
  if (suggestion) lines.push(`  next: ${suggestion}`);
  return lines.join('\n');
}

/** Says how to install the packages of the build. */
export function missingPackage(error) {
  if (!/MODULE_NOT_FOUND$/.test(error?.code)) throw error;
  throw new BuildFailure('environment', {
    text: `a package of the build is not installed: ${error.message.split('\n')[0]}`,
    suggestion: 'run `npm ci --omit=dev --ignore-scripts` in the folder `build`',
  });
}

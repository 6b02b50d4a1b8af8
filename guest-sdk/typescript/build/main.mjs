// Runs a build from the command line.
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BuildFailure, ExitCode, describe } from './failure.mjs';
import { leftOutOf } from './left-out.mjs';
import { USAGE, parseOptions } from './options.mjs';

/** Returns the exit code. */
export async function main(args) {
  let options = { json: args.includes('--json') };
  try {
    options = parseOptions(args);
    if (options.help) {
      console.log(USAGE);
      return ExitCode.Ok;
    }
    const answer = await (options.check ? check(options) : build(options));
    if (options.json) console.log(JSON.stringify({ ok: true, ...answer }));
    else if (!options.check) report(answer);
    return ExitCode.Ok;
  } catch (error) {
    const failure = BuildFailure.from(error);
    if (options.json) console.log(JSON.stringify({ ok: false, kind: failure.kind, errors: failure.errors }));
    else console.error(failure.errors.map((each) => describe('error', each)).join('\n\n'));
    return failure.exitCode;
  }
}

/** Finds errors in the sources without running them. */
async function check(options) {
  const started = performance.now();
  const { bundleUser } = await import('./bundle.mjs').catch(missingPackage);
  const { exported, inputs, warnings } = await bundleUser(options.entry, options.root, options.engine ?? 'qjs');
  const { handlersOf } = await import('./handlers.mjs').catch(missingPackage);
  return { handlers: handlersOf(exported) ?? null, inputs, warnings, milliseconds: Math.round(performance.now() - started) };
}

async function build(options) {
  const started = performance.now();
  const { bundle } = await import('./bundle.mjs').catch(missingPackage);
  let bundled = await bundle(options);
  const { componentize } = await import(`./componentize-${bundled.engine}.mjs`).catch(missingPackage);
  let bytes;
  try {
    bytes = await componentize(bundled, options);
  } catch (error) {
    const leftOut = leftOutOf(error);
    if (!leftOut) throw error;
    bundled = await bundle(options, leftOut);
    bytes = await componentize(bundled, options);
  }
  await mkdir(path.dirname(options.out), { recursive: true });
  // A program that reads `out` meanwhile gets the old component or the new one.
  const partial = `${options.out}.${process.pid}.partial`;
  await writeFile(partial, bytes);
  await rename(partial, options.out);
  return {
    out: options.out,
    engine: bundled.engine,
    world: bundled.features,
    bytes: bytes.length,
    inputs: bundled.inputs,
    warnings: bundled.warnings,
    milliseconds: Math.round(performance.now() - started),
  };
}

function report({ out, engine, bytes, warnings, milliseconds }) {
  for (const warning of warnings) console.error(describe('warning', warning));
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  console.error(`${out}: ${size}, ${engine}, ${(milliseconds / 1000).toFixed(1)} s`);
}

function missingPackage(error) {
  if (error?.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  throw new BuildFailure('environment', {
    text: `a package of the build is not installed: ${error.message.split('\n')[0]}`,
    suggestion: 'run `npm ci --omit=dev --ignore-scripts` in the folder `build`',
  });
}

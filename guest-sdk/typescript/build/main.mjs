// Runs a build from the command line.
import path from 'node:path';
import { engineComponent } from './engine.mjs';
import { BuildFailure, ExitCode, describe, missingPackage } from './failure.mjs';
import { replaceFile } from './files.mjs';
import { plainName } from './modules.mjs';
import { USAGE, parseOptions } from './options.mjs';
import { afterLoading } from './snapshot.mjs';
import { absentName } from './types/imports.mjs';
import { describeTypes } from './types/index.mjs';

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
  const { bundleUser, engineOf } = await import('./bundle.mjs').catch(missingPackage);
  const engine = options.engine ?? (await engineOf(options.entry));
  const { exported, inputs, warnings } = await bundleUser(options.entry, options.root, engine);
  const { handlersOf } = await import('./handlers.mjs').catch(missingPackage);
  return { handlers: handlersOf(exported) ?? null, inputs, warnings, milliseconds: Math.round(performance.now() - started) };
}

async function build(options) {
  const started = performance.now();
  const { bundle } = await import('./bundle.mjs').catch(missingPackage);
  const stop = new AbortController();
  const types = describeTypes(options.entry, options.work, stop.signal).catch(missingPackage);
  const [{ engine, features, code, map, inputs, warnings }, typed] = await both(bundle(options), types, stop);
  if (typed.wrong.length > 0) throw new BuildFailure('source', ...typed.wrong);
  const { loaded, component } = afterLoading(await engineComponent(engine, features, options), code, typed.handlers);
  if (loaded.failure) {
    const { topLevelFailure } = await import('./top-level.mjs');
    throw topLevelFailure(loaded.failure, map);
  }
  await replaceFile(options.out, component);
  return {
    out: options.out,
    engine,
    world: features,
    bytes: component.length,
    exports: loaded.exports.map((each) => withPlace(each, typed.places)),
    inputs: [...new Set([...inputs, ...typed.inputs])],
    warnings: [...warnings, ...typed.warnings, ...absentWarnings(loaded.absent, typed.imported), ...loaded.leftOut.map((name) => leftOutWarning(options.entry, name))],
    milliseconds: Math.round(performance.now() - started),
  };
}

/** The compiler of types is not waited for where there is no bundle. */
async function both(bundled, types, stop) {
  try {
    return await Promise.all([bundled, types]);
  } finally {
    stop.abort();
  }
}

/** The problem of a schema that the module makes stands where its handler does. */
function withPlace({ problem, ...said }, places) {
  return problem ? { ...said, problem: { ...places[said.name], ...problem } } : said;
}

/** Names that the author imports from modules of Node, and that these have not here. */
function absentWarnings(absent, imported) {
  return imported.flatMap(({ module, name, ...place }) => {
    const [, , names] = absent.find((each) => each[0] === plainName(module) && each[1] === name) ?? [];
    if (!names) return [];
    const { text, ...said } = absentName(module, name, names, place);
    return [{ text: `${text} in the sandbox of a tool: it is undefined`, ...said }];
  });
}

/** The handlers that a tool has not, because no manifest can export their names. */
function leftOutWarning(entry, name) {
  return {
    file: path.basename(entry),
    text: `the handler \`${name}\` is left out: a name is lower-case letters, digits, \`_\` and \`-\`, without \`__\``,
    suggestion: 'rename it, if a manifest is to export it',
  };
}

function report({ out, engine, bytes, warnings, milliseconds }) {
  for (const warning of warnings) console.error(describe('warning', warning));
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  console.error(`${out}: ${size}, ${engine}, ${(milliseconds / 1000).toFixed(1)} s`);
}

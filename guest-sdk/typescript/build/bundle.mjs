// Bundles the author's module and the runtime into one JavaScript module.
import { readFile } from 'node:fs/promises';
import { SourceMap, createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { authorMapStatement } from './author-map.mjs';
import { BuildFailure } from './failure.mjs';
import { handlersOf, useOfTools } from './handlers.mjs';
import { OF_PACKAGES, SERVED, WITHOUT_PAGE, globalFiles, isBuiltin, notServed, plainName, servedBy } from './modules.mjs';
import { refuseOutsideData } from './outside.mjs';

const ENGINES = ['qjs', 'starlingmonkey'];

const BUILD = fileURLToPath(new URL('.', import.meta.url));
const RUNTIME = fileURLToPath(new URL('../runtime/', import.meta.url));

/** Before the path of an author's file, relative to the entry's folder, in a source map. */
export const AUTHOR = 'author:';

/** Syntax that is compiled away for QuickJS, which does not run its own promises: runtime/engine/qjs/promise.ts. */
const WITHOUT_ASYNC = { 'async-await': false, 'async-generator': false, 'for-await': false };

const COMMON = {
  bundle: true,
  write: false,
  metafile: true,
  logLevel: 'silent',
  // A text of bytes takes half of the engine's memory.
  charset: 'ascii',
  minifyWhitespace: true,
  minifySyntax: true,
  target: 'es2022',
  legalComments: 'none',
};

/** Returns `{engine, features, code, map, inputs, warnings}`. `code` is a function that takes `module`, `exports`, `require` and what types say of handlers. */
export async function bundle({ entry, root = path.dirname(entry), engine: wanted }) {
  const engine = wanted ?? (await engineOf(entry));
  const user = await bundleUser(entry, root, engine);
  const whole = await bundleWhole(user, engine);
  return {
    engine,
    features: { polling: user.exports.includes('polling'), agents: user.served.has('toolhost/agents'), tools: user.usesTools, fetch: user.usesFetch },
    code: whole.code,
    map: whole.map,
    inputs: user.inputs,
    warnings: user.warnings,
  };
}

/** Returns the engine that `package.json` beside the entry asks for, as by `{"toolhost": {"engine": "starlingmonkey"}}`, or else `qjs`. */
export async function engineOf(entry) {
  const text = await readFile(path.join(path.dirname(entry), 'package.json'), 'utf8').catch(() => '{}');
  const engine = /"toolhost"/.test(text) ? JSON.parse(text).toolhost?.engine : undefined;
  if (engine === undefined || ENGINES.includes(engine)) return engine ?? 'qjs';
  throw new BuildFailure('source', { file: 'package.json', text: `the engine \`${engine}\` does not exist`, suggestion: `write one of ${ENGINES.join(', ')}` });
}

/**
 * Bundles the author's modules and packages; modules of the runtime stay a `require`. `root` is the folder of the bundle.
 * `exported` is the same as a module with exports.
 */
export async function bundleUser(entry, root, engine) {
  const served = new Set();
  const folder = path.dirname(entry);
  const options = {
    ...COMMON,
    absWorkingDir: folder,
    entryPoints: [entry],
    // Ignore every `tsconfig.json`: it is for editors.
    tsconfigRaw: {},
    platform: 'browser',
    // What packages have for places without a page and without Node's network.
    conditions: ['worker', 'edge-light', 'module'],
    // `import()` becomes a `require`, which only the runtime answers.
    supported: { 'dynamic-import': false, ...(engine === 'qjs' && WITHOUT_ASYNC) },
    define: { fetch: 'globalThis.fetch', 'process.env.NODE_ENV': '"production"' },
    loader: { '.txt': 'text', '.md': 'text', '.html': 'text' },
    sourcemap: 'external',
    sourcesContent: false,
    outfile: path.join(folder, 'tool.js'),
    plugins: [servedModules(served)],
  };
  const asModule = await run({ ...options, format: 'esm' });
  refuseOutsideData(asModule.metafile, folder, root);
  const { exports } = Object.values(asModule.metafile.outputs).find(({ entryPoint }) => entryPoint);
  const exported = asModule.outputFiles[1].text;
  const tools = useOfTools(exported);
  if (tools !== undefined && engine !== 'qjs') throw await withoutTools(engine, placeOf(asModule, tools), folder);
  const functions = exports.includes('handlers') ? undefined : handlersOf(exported);
  if (!exports.includes('handlers') && !functions) throw noHandlers(entry, exports);
  const { outputFiles, metafile, warnings } = await run({
    ...options,
    format: 'cjs',
    banner: { js: 'export default function (module, exports, require) {' },
    footer: { js: functions ? `${withHandlers(functions)}}` : '}' },
  });
  const [map, code] = outputFiles.map(({ text }) => text);
  return {
    code: code + inline(map),
    exported,
    served,
    named: namedOf(exported, served),
    exports,
    usesFetch: /\bglobalThis\.fetch\b/.test(code),
    usesTools: tools !== undefined,
    inputs: Object.keys(metafile.inputs).map((input) => path.resolve(folder, input)),
    warnings: warnings.map((warning) => finding(warning)),
  };
}

/** `import { a as b, c } from "fs"`, as esbuild writes it. */
const IMPORT = /\bimport(?: [\w$]+,)?\{([^}]*)\}from"([^"]+)"/g;

/** Returns the names that a bundle imports from each module of the runtime, as `[module, name]`. */
function namedOf(code, served) {
  const imports = [...code.matchAll(IMPORT)].filter(([, , module]) => served.has(module));
  const pairs = imports.flatMap(([, names, module]) => names.split(',').map((each) => [module, each.split(' as ')[0].trim()]));
  return pairs.filter(([, name]) => /^[\w$]+$/.test(name) && name !== 'default');
}

/** Makes handlers of the functions that a module exports. */
function withHandlers(names) {
  const handlers = names.map((name) => `${JSON.stringify(name)}:module.exports[${JSON.stringify(name)}]`);
  return `module.exports=Object.assign({},module.exports,{handlers:{${handlers.join(',')}}});`;
}

/** Returns a source map as a comment, with the author's files marked as such. */
function inline(text) {
  const map = JSON.parse(text);
  map.sources = map.sources.map((source) => AUTHOR + source);
  return `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}\n`;
}

/** Leaves modules of the runtime to the runtime, and refuses modules that do not exist. */
function servedModules(served) {
  return {
    name: 'served-modules',
    setup(build) {
      build.onResolve({ filter: /^[^./]/ }, async ({ path: specifier, pluginData, kind, resolveDir }) => {
        const name = plainName(specifier);
        if (Object.hasOwn(SERVED, name)) {
          served.add(name);
          return { path: name, external: true };
        }
        if (WITHOUT_PAGE.test(specifier)) return entryOfNode(specifier, resolveDir);
        if (!isBuiltin(specifier) || pluginData === 'resolving') return undefined;
        const found = await build.resolve(specifier, { kind, resolveDir, pluginData: 'resolving' });
        if (found.errors.length === 0) return found;
        const { text, suggestion } = notServed(specifier);
        return { errors: [{ text, detail: suggestion }] };
      });
    },
  };
}

/** Undefined if the package is not installed. */
function entryOfNode(specifier, folder) {
  try {
    return { path: createRequire(path.join(folder, 'index.js')).resolve(specifier) };
  } catch {
    return undefined;
  }
}

/** Bundles the runtime around the author's bundle. */
async function bundleWhole(user, engine) {
  const names = [...user.served].sort();
  const imports = names.map((name, index) => {
    const { file, name: exported } = servedBy(name, user.code);
    const binding = exported === '*' ? `* as m${index}` : `{ ${exported} as m${index} }`;
    return `import ${binding} from ${JSON.stringify(RUNTIME + file)};`;
  });
  const served = names.map((name, index) => `${JSON.stringify(name)}: m${index}`);
  const entry = [
    `import ${JSON.stringify(`${RUNTIME}globals.ts`)};`,
    `import ${JSON.stringify(`${RUNTIME}surroundings.ts`)};`,
    ...(user.usesTools ? [`import ${JSON.stringify(`${RUNTIME}tools.ts`)};`] : []),
    ...globalFiles(await withTypes(user)).map((file) => `import ${JSON.stringify(RUNTIME + file)};`),
    ...imports,
    `import { component } from ${JSON.stringify(`${RUNTIME}adapter.ts`)};`,
    `import load from 'toolhost:user';`,
    `const served = { ${served.join(', ')} };`,
    'export const { handlers, polling, exports, leftOut } = component(load, served, toolhostTypes);',
    // An import of a name that a module has not is undefined.
    `export const absent = ${JSON.stringify(user.named)}.filter(([module, name]) => !(name in served[module])).map(([module, name]) => [module, name, Object.keys(served[module])]);`,
    ...(engine === 'qjs' ? [`export { ${RUN_ASYNC} } from 'toolhost:engine';`] : []),
  ];
  const { outputFiles } = await run({
    ...COMMON,
    absWorkingDir: RUNTIME,
    outfile: `${RUNTIME}tool.js`,
    stdin: { contents: entry.join('\n'), resolveDir: RUNTIME, sourcefile: 'component.js' },
    nodePaths: [path.join(BUILD, 'node_modules')],
    platform: 'browser',
    supported: engine === 'qjs' ? WITHOUT_ASYNC : {},
    format: 'cjs',
    banner: { js: '"use strict";(function(module,exports,require,toolhostTypes){' },
    footer: { js: '})' },
    sourcemap: 'external',
    sourcesContent: false,
    plugins: [virtualModules(user.code, engine)],
  });
  const [map, code] = outputFiles.map(({ text }) => text);
  const whole = JSON.parse(map);
  const withAsync = engine === 'qjs' ? withOwnAsync(code) : code;
  const end = withAsync.lastIndexOf('})');
  return { code: `${withAsync.slice(0, end)}${authorMapStatement(whole, AUTHOR)}${withAsync.slice(end)}`, map: whole };
}

/** esbuild's helper for async functions that are compiled to generators. */
const ASYNC_HELPER = /\b(__async\d*)=\(__this,__arguments,generator\)=>new Promise\(.*?generator\.apply\(__this,__arguments\)\)\.next\(\)\)\}\)/g;

/** Its replacement: a function of runtime/engine/qjs/promise.ts, which a bundle has and exports at its top level. */
const RUN_ASYNC = 'runAsyncFunction';

/** Puts the runtime's own function in place of esbuild's helper. The text keeps its length, for the source map. */
function withOwnAsync(code) {
  if (!code.includes(`function ${RUN_ASYNC}(`)) return code;
  return code.replace(ASYNC_HELPER, (helper, name) => `${name}=${RUN_ASYNC}`.padEnd(helper.length));
}

/** Returns the code, with the name of a class that only a type of an argument names. */
async function withTypes({ code, inputs }) {
  const own = inputs.filter((file) => /\.[cm]?tsx?$/.test(file) && !file.includes('node_modules'));
  const texts = await Promise.all(own.map((file) => readFile(file, 'utf8')));
  return texts.some((text) => /\bURL\b/.test(text)) ? `${code} URL` : code;
}

function virtualModules(userCode, engine) {
  return {
    name: 'virtual-modules',
    setup(build) {
      // The author's modules are bundled already: whatever their code names now is at most a computed path.
      build.onResolve({ filter: /.*/, namespace: 'toolhost' }, ({ path: specifier }) => ({ errors: [{ text: `"${specifier}" was not bundled` }] }));
      build.onResolve({ filter: /^(abort-controller|process\/|querystring)$/ }, ({ path: specifier }) => ({ path: specifier, namespace: 'of-packages' }));
      build.onLoad({ filter: /.*/, namespace: 'of-packages' }, ({ path: specifier }) => ({
        contents: `module.exports = require(${JSON.stringify(RUNTIME + OF_PACKAGES[specifier])}).default;`,
        resolveDir: RUNTIME,
      }));
      build.onResolve({ filter: /^toolhost:engine$/ }, () => ({ path: `${RUNTIME}engine/${engine}/index.ts` }));
      build.onResolve({ filter: /^toolhost:http$/ }, () => ({ path: `${RUNTIME}engine/${engine}/http.ts` }));
      build.onResolve({ filter: /^toolhost:user$/ }, () => ({ path: 'user', namespace: 'toolhost' }));
      build.onLoad({ filter: /.*/, namespace: 'toolhost' }, () => ({ contents: userCode, loader: 'js', resolveDir: RUNTIME }));
      // The module of engine.mjs has them.
      build.onResolve({ filter: /^(wasi|goondan):/ }, () => ({ external: true }));
    },
  };
}

async function run(options) {
  try {
    return await build(options);
  } catch (error) {
    if (!Array.isArray(error?.errors)) throw error;
    throw new BuildFailure('source', ...error.errors.map((each) => finding(each)));
  }
}

/** Converts an esbuild message to a finding. */
function finding({ text, location, detail }) {
  return {
    text,
    ...(location && { file: location.file, line: location.line, column: location.column + 1, lineText: location.lineText }),
    suggestion: typeof detail === 'string' ? detail : nextMove(text),
  };
}

function nextMove(text) {
  const [, missing] = /^Could not resolve "([^"]+)"/.exec(text) ?? [];
  if (missing?.startsWith('.')) return 'correct the path, or create the file';
  if (missing) return `run \`npm install ${packageOf(missing)}\` in the folder of the tool`;
  if (text.startsWith('Top-level await')) return 'a module may not wait at its top level: move the `await` into the handler';
  return undefined;
}

/** Returns the package of a module: `@scope/name` of `@scope/name/module.js`. */
function packageOf(module) {
  return module.split('/').slice(0, module.startsWith('@') ? 2 : 1).join('/');
}

function noHandlers(entry, exports) {
  const found = exports.length > 0 ? `it exports ${exports.map((name) => `\`${name}\``).join(', ')}` : 'it exports nothing';
  return new BuildFailure('source', {
    file: path.basename(entry),
    text: `the module exports no \`handlers\`; ${found}`,
    suggestion: 'write `export const handlers = { name: async (ctx, input) => { … } }`, or `export async function name(ctx, input) { … }`',
  });
}

/** Returns the place in the author's files of an offset in a bundle. */
function placeOf({ outputFiles: [map, code] }, offset) {
  const lines = code.text.slice(0, offset).split('\n');
  const { originalSource, originalLine, originalColumn } = new SourceMap(JSON.parse(map.text)).findEntry(lines.length - 1, lines.at(-1).length);
  return { file: originalSource, line: originalLine + 1, column: originalColumn + 1 };
}

async function withoutTools(engine, place, folder) {
  const text = await readFile(path.join(folder, place.file), 'utf8');
  return new BuildFailure('source', {
    ...place,
    text: `\`ctx.tools\` does not exist in the engine \`${engine}\``,
    lineText: text.split('\n')[place.line - 1],
    suggestion: 'build the tool with the engine `qjs`: leave out `toolhost.engine` in `package.json`, and `--engine`',
  });
}

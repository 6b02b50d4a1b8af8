// Loads the TypeScript compiler, and reads the types of a module with it.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import { replaceFileSync } from '../files.mjs';

const require = createRequire(import.meta.url);

/** Types that a module of a tool has without an import. */
const AMBIENT = ['../../types.d.ts', 'globals.d.ts'].map((name) => fileURLToPath(new URL(name, import.meta.url)));

const OF_KIT = /^(toolhost|@goondan)(\/|$)/;

/** What says nothing about types of handlers, or is large. */
const LIBRARY_WITHOUT = /\.(intl|decorators|decorators\.legacy)\.d\.ts$/;

/** Returns the compiler. Its compiled code is kept in `work`, which halves the time to load it. */
export function loadCompiler(work) {
  const file = require.resolve('typescript');
  const cache = path.join(work, `typescript-${require('typescript/package.json').version}-${process.version}.code`);
  const cachedData = read(cache);
  // Its text is ASCII, of nine megabytes: as UTF-8 they take ten times as long to read.
  const text = `(function (exports, require, module, __filename, __dirname) {${readFileSync(file, 'latin1')}\n})`;
  const script = new vm.Script(text, { filename: file, cachedData });
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(file), module, file, path.dirname(file));
  /** Keeps the code once all that a build uses has run. */
  const keep = () => {
    if (cachedData === undefined || script.cachedDataRejected) replaceFileSync(cache, script.createCachedData());
  };
  return { ts: module.exports, keep };
}

/**
 * Returns `{program, isAmbient, missing}` of an entry; `missing` are imports of its own files that are not there. The types of
 * packages, which may be large, are read only `withPackages`. `files` keeps what was parsed for the next program.
 */
export function programOf(ts, entry, work, { files, withPackages }) {
  const options = {
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    strict: true,
    noLib: true,
    types: [],
    allowJs: true,
    jsx: ts.JsxEmit.Preserve,
    resolveJsonModule: true,
    noEmit: true,
  };
  const host = ts.createCompilerHost(options);
  const library = path.join(work, `lib-${ts.version}.d.ts`);
  const { ParseNone, ParseAll } = ts.JSDocParsingMode;
  host.getSourceFile = (file) => {
    const text = file === library ? libraryText(ts, library) : read(file, 'utf8');
    if (text === undefined) return undefined;
    if (!files.has(file)) files.set(file, ts.createSourceFile(file, text, { languageVersion: options.target, jsDocParsingMode: file === library ? ParseNone : ParseAll }, true));
    return files.get(file);
  };
  host.fileExists = (file) => file === library || ts.sys.fileExists(file);
  const modules = ts.createModuleResolutionCache(host.getCurrentDirectory(), (name) => name, options);
  const missing = [];
  host.resolveModuleNameLiterals = (literals, from, redirected) =>
    literals.map(({ text }) => {
      // Those of the kit are declared in types.d.ts, of which a project has a copy.
      if (OF_KIT.test(text) || (!withPackages && !/^[./]/.test(text))) return { resolvedModule: undefined };
      const resolution = ts.resolveModuleName(text, from, options, host, modules, redirected);
      if (!resolution.resolvedModule && text.startsWith('.')) missing.push(text);
      return resolution;
    });
  const isAmbient = (name) => name === library || AMBIENT.includes(name);
  return { program: ts.createProgram([library, ...AMBIENT, entry], options, host), isAmbient, missing };
}

/** Types of which a handler takes and returns none, and which are half of the declarations. */
const RARE = /^(Int8|Uint8Clamped|Int16|Uint16|Int32|Uint32|Float32|Float64|BigInt64|BigUint64)Array|^(Atomics|SharedArrayBuffer|DataView|WebAssembly)/;

/** Returns the declarations of JavaScript without comments, which are three quarters of them, and without those of `RARE`. */
function libraryText(ts, file) {
  const kept = read(file, 'utf8');
  if (kept !== undefined) return kept;
  const folder = path.dirname(require.resolve('typescript'));
  const text = libraryFiles('lib.es2023.d.ts', folder).map((each) => withoutComments(ts, readFileSync(each, 'utf8'))).join('\n');
  replaceFileSync(file, text);
  return text;
}

function libraryFiles(name, folder, seen = new Set()) {
  if (seen.has(name) || LIBRARY_WITHOUT.test(name)) return [];
  seen.add(name);
  const file = path.join(folder, name);
  const references = [...readFileSync(file, 'utf8').matchAll(/^\/\/\/ <reference lib="([\w.]+)" \/>/gm)];
  return [...references.flatMap(([, lib]) => libraryFiles(`lib.${lib}.d.ts`, folder, seen)), file];
}

function withoutComments(ts, text) {
  const source = ts.createSourceFile('lib.d.ts', text, ts.ScriptTarget.ESNext, true);
  const nameOf = (statement) => (statement.name ?? statement.declarationList?.declarations[0].name)?.text ?? '';
  const statements = source.statements.filter((each) => !RARE.test(nameOf(each))).map((each) => each.getText());
  const scanner = ts.createScanner(ts.ScriptTarget.ESNext, true, ts.LanguageVariant.Standard, statements.join('\n'));
  const tokens = [];
  while (scanner.scan() !== ts.SyntaxKind.EndOfFileToken) tokens.push((scanner.hasPrecedingLineBreak() ? '\n' : ' ') + scanner.getTokenText());
  return tokens.join('');
}

function read(file, encoding) {
  try {
    return readFileSync(file, encoding);
  } catch {
    return undefined;
  }
}

// Finds the names of a module's handlers without running it.
import { parse } from 'acorn';

/** Names that a manifest can export, as in runtime/module.ts. */
export const NAME = /^[a-z0-9-](?!.*__)[a-z0-9_-]*$/;

const CALLABLE = ['ArrowFunctionExpression', 'FunctionExpression', 'CallExpression'];

/** Exports that are no handlers. */
const RESERVED = ['default', 'exports', 'polling'];

/**
 * Returns the names in `handlers` of a bundled module, if it exports an object that is written out, or the functions that
 * it exports. Undefined if only running the module tells them.
 */
export function handlersOf(code) {
  const program = parseModule(code);
  const variable = program && exportedAs(program, 'handlers');
  if (program && !variable) return functionsOf(program);
  const object = variable && initialValue(program, variable);
  // The declaration, and the export.
  if (object?.type !== 'ObjectExpression' || countOf(program, variable) > 2) return undefined;
  const names = object.properties.map(nameOf);
  if (names.includes(undefined)) return undefined;
  const exportable = names.filter((name) => NAME.test(name));
  return exportable.length > 0 ? exportable : undefined;
}

/** Returns the names of exported functions, and of constants that calls make, such as `tool(…)`. */
function functionsOf(program) {
  const exported = program.body.flatMap((each) => (each.type === 'ExportNamedDeclaration' ? each.specifiers : []));
  const declared = program.body.filter(({ type }) => type === 'FunctionDeclaration').map(({ id }) => id.name);
  const isCallable = (name) => declared.includes(name) || CALLABLE.includes(initialValue(program, name)?.type);
  const names = exported.filter(({ local }) => isCallable(local.name)).map((each) => each.exported.name);
  const exportable = names.filter((name) => NAME.test(name) && !RESERVED.includes(name));
  return exportable.length > 0 ? exportable : undefined;
}

/** The name of a variable that holds the context of a call. */
const CONTEXT = /ctx|context/i;

/**
 * Returns where a bundled module uses `ctx.tools`, or takes it out of the context of a handler: the offset of the first
 * place. Undefined if it does not.
 */
export function useOfTools(code) {
  const program = /\btools\b/.test(code) ? parseModule(code) : undefined;
  const starts = program && [...nodesOf(program)].filter(namesTools).map(({ start }) => start);
  return starts?.length > 0 ? Math.min(...starts) : undefined;
}

function namesTools(node) {
  const takesOut = (pattern) => pattern?.type === 'ObjectPattern' && pattern.properties.some((each) => nameOf(each) === 'tools');
  if (node.type === 'MemberExpression') return node.property.name === 'tools' && CONTEXT.test(lastNameOf(node.object));
  if (node.type === 'VariableDeclarator') return takesOut(node.id) && CONTEXT.test(lastNameOf(node.init));
  // A handler has two parameters.
  return node.params?.length === 2 && takesOut(node.params[0]);
}

/** Returns the name of a variable, or of the last property of a path. */
function lastNameOf(node) {
  return (node?.type === 'MemberExpression' ? node.property.name : node?.name) ?? '';
}

function parseModule(code) {
  try {
    return parse(code, { ecmaVersion: 'latest', sourceType: 'module' });
  } catch {
    return undefined;
  }
}

/** Returns the variable that a bundle exports under a name. esbuild writes one `export { … }`. */
function exportedAs(program, name) {
  const specifiers = program.body.flatMap((each) => (each.type === 'ExportNamedDeclaration' ? each.specifiers : []));
  return specifiers.find(({ exported }) => exported.name === name)?.local.name;
}

function initialValue(program, variable) {
  const declarations = program.body.flatMap((each) => (each.type === 'VariableDeclaration' ? each.declarations : []));
  return declarations.find(({ id }) => id.name === variable)?.init;
}

/** Counts the places that name a variable. Another one might add handlers. */
function countOf(program, variable) {
  let count = 0;
  for (const { type, name, local } of nodesOf(program, ({ type }) => type !== 'ExportSpecifier')) {
    if (type === 'ExportSpecifier' ? local.name === variable : type === 'Identifier' && name === variable) count += 1;
  }
  return count;
}

/** All nodes of a program, without what is within a node for which `goesOn` is false. */
function* nodesOf(program, goesOn = () => true) {
  const waiting = [program];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    yield node;
    if (!goesOn(node)) continue;
    for (const value of Object.values(node)) {
      for (const each of Array.isArray(value) ? value : [value]) {
        if (typeof each?.type === 'string') waiting.push(each);
      }
    }
  }
}

function nameOf({ type, computed, key }) {
  if (type !== 'Property' || computed) return undefined;
  return key.type === 'Identifier' ? key.name : String(key.value);
}

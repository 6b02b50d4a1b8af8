// Finds the handlers of a module with their types, and says what they take and return.
import path from 'node:path';
import { descriptionOf } from './docs.mjs';
import { placeOf } from './place.mjs';
import { SchemaWriter, Unsayable, isUnresolved, refuseDefault } from './schema.mjs';

/**
 * Returns `{handlers, places, warnings, isWhole}`. Handlers are `{name, description?, parameters?, outputSchema?, plan?, problem?}`:
 * `plan` converts input and output. `places` has where each stands, by name. They are not whole where a type is of a
 * package that was not read.
 */
export function handlersOf(ts, program, entry, isAmbient) {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(entry);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) return { handlers: [], places: {}, warnings: [], isWhole: true };
  const exports = checker.getExportsOfModule(module);
  const exported = exports.find(({ name }) => name === 'handlers');
  const context = { ts, checker, isAmbient, folder: path.dirname(entry), unresolved: new Set() };
  const result = (properties, handlers, warnings = []) => ({ handlers, places: placesOf(properties, context.folder), warnings, isWhole: context.unresolved.size === 0 });
  if (!exported) return result(exports, exports.map((each) => handlerOf(context, resolved(ts, checker, each), source, each.name)).filter(({ parameters, problem }) => parameters || problem));
  const symbol = resolved(ts, checker, exported);
  const declaration = symbol.valueDeclaration;
  if (!declaration) return result([], []);
  const initializer = declaration.initializer && unwrapped(ts, declaration.initializer);
  const isWritten = initializer && ts.isObjectLiteralExpression(initializer);
  const type = isWritten ? checker.getTypeAtLocation(initializer) : checker.getTypeOfSymbolAtLocation(symbol, declaration);
  const properties = checker.getPropertiesOfType(type);
  const handlers = properties.map((property) => handlerOf(context, property, declaration));
  return result(properties, handlers, notListed(context, exports, properties));
}

function placesOf(properties, folder) {
  const placed = properties.filter(({ declarations }) => declarations?.length > 0);
  return Object.fromEntries(placed.map(({ name, declarations }) => [name, placeOf(declarations[0], folder)]));
}

/** Warns of exported functions that take the context of a call, and that `handlers` does not list. */
function notListed(context, exports, properties) {
  const { ts, checker, folder } = context;
  const listed = new Set(properties.flatMap((property) => [...(property.declarations ?? []), ...functionsOf(ts, checker, property)]));
  const others = exports.map((each) => resolved(ts, checker, each)).filter(({ declarations = [] }) => !declarations.some((each) => listed.has(each)));
  return others.filter((each) => takesContext(context, each)).map((each) => ({
    text: `\`${each.name}\` is exported and takes the context of a call, and \`handlers\` does not list it`,
    ...placeOf(each.declarations[0], folder),
    suggestion: 'add it to `handlers`, or do not export it',
  }));
}

function takesContext({ checker, isAmbient }, { name, valueDeclaration, declarations = [] }) {
  if (!valueDeclaration || name === 'polling' || !declarations.some((each) => !isAmbient(each.getSourceFile().fileName))) return false;
  const [signature] = checker.getTypeAtLocation(valueDeclaration).getCallSignatures();
  const first = signature?.parameters[0];
  if (!first) return false;
  return checker.getTypeOfSymbolAtLocation(first, valueDeclaration).symbol?.name === 'ToolContext';
}

function handlerOf(context, property, declaration, name = property.name) {
  const { ts, checker } = context;
  const place = property.valueDeclaration ?? declaration;
  const handler = { name, ...described(context, property) };
  const signature = checker.getTypeOfSymbolAtLocation(property, place).getCallSignatures()[0];
  if (!signature) return handler;
  const input = signature.parameters[1];
  const within = signature.declaration ?? place;
  try {
    checkContext(context, signature.parameters[0]);
    Object.assign(handler, inputOf(context, input, within));
  } catch (error) {
    if (!(error instanceof Unsayable)) throw error;
    handler.problem = problemOf(context, error);
  }
  try {
    const { schema, plan } = outputOf(context, signature, within);
    if (schema) handler.outputSchema = schema;
    if (plan) handler.plan = { ...handler.plan, output: plan };
  } catch (error) {
    if (!(error instanceof Unsayable)) throw error;
  }
  return handler;
}

/** What a handler may take of its context. */
const CONTEXT = ['agentName', 'instanceKey', 'turnId', 'toolCallId', 'traceId', 'message', 'workdir', 'logger', 'tools'];

/** Refuses the arguments as the first parameter, where other SDKs have them. */
function checkContext({ checker, isAmbient }, first) {
  const declaration = first?.valueDeclaration;
  if (!declaration || isAmbient(declaration.getSourceFile().fileName)) return;
  const names = checker.getPropertiesOfType(checker.getTypeOfSymbolAtLocation(first, declaration)).map(({ name }) => name);
  if (names.length > 0 && !names.some((name) => CONTEXT.includes(name))) {
    throw new Unsayable('the first parameter of a handler is its context', declaration, 'take the arguments second: `(ctx, input: { … })`');
  }
}

function inputOf({ ts, checker, isAmbient, unresolved }, input, within) {
  if (!input) return { parameters: { type: 'object', properties: {}, additionalProperties: false } };
  const declaration = input.valueDeclaration ?? within;
  const place = isAmbient(declaration.getSourceFile().fileName) ? within : declaration;
  const type = checker.getTypeOfSymbolAtLocation(input, place);
  if (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) {
    // What `tool` makes has the type that a schema of a package has.
    if (isUnresolved(type) || place !== declaration) unresolved.add(type);
    return {};
  }
  const writer = new SchemaWriter(ts, checker, 'input', isAmbient, unresolved);
  const { schema, plan } = writer.write(writer.withoutUndefined(type), place);
  const rootless = schema.anyOf?.every((each) => each.type === 'object') ? { type: 'object', ...schema } : schema;
  if (rootless.type !== 'object') throw new Unsayable('the arguments of a tool are an object', place, 'take `input: { name: … }`');
  const { schema: parameters, plan: full } = withDefaults(ts, declaration, rootless, plan);
  return { parameters, ...(full && { plan: { input: full } }) };
}

/** Adds the defaults of a parameter that is taken apart: `{ limit = 10 }: Input`. */
function withDefaults(ts, declaration, schema, plan) {
  const elements = declaration.name && ts.isObjectBindingPattern(declaration.name) ? declaration.name.elements : [];
  const properties = { ...schema.properties };
  let required = schema.required;
  for (const { name, propertyName, initializer } of elements) {
    const property = (propertyName ?? name).text;
    const value = initializer && literalOf(ts, initializer);
    if (value === undefined || !Object.hasOwn(properties, property)) continue;
    refuseDefault(properties[property], value, initializer);
    properties[property] = { ...properties[property], default: value };
    required = required?.filter((each) => each !== property);
  }
  const { required: before, ...others } = schema;
  return { schema: { ...others, properties, ...(required?.length > 0 && { required }) }, plan };
}

function literalOf(ts, node) {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isNumericLiteral(node)) return Number(node.text);
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.MinusToken && ts.isNumericLiteral(node.operand)) return -Number(node.operand.text);
  if (node.kind === ts.SyntaxKind.TrueKeyword) return true;
  if (node.kind === ts.SyntaxKind.FalseKeyword) return false;
  if (node.kind === ts.SyntaxKind.NullKeyword) return null;
  if (ts.isArrayLiteralExpression(node)) {
    const items = node.elements.map((each) => literalOf(ts, each));
    return items.includes(undefined) ? undefined : items;
  }
  return undefined;
}

/** A schema only of an object: other outputs have none. */
function outputOf({ ts, checker, isAmbient, unresolved }, signature, within) {
  const type = checker.getAwaitedType(signature.getReturnType());
  const isPending = (each) => each.symbol?.name === 'Pending' && each.symbol.declarations?.some((of) => isAmbient(of.getSourceFile().fileName));
  if (!type || isPending(type) || (type.isUnion() && type.types.some(isPending))) return {};
  const { Any, Unknown, Void, Undefined, Never } = ts.TypeFlags;
  if (type.flags & (Any | Unknown | Void | Undefined | Never)) return {};
  // What a handler happens to return is any JSON where a package makes it.
  const { schema, plan } = new SchemaWriter(ts, checker, 'output', isAmbient, signature.declaration?.type ? unresolved : new Set()).write(type, within);
  return { schema: schema.type === 'object' ? schema : undefined, plan };
}

/** The comment of a handler: where it is listed, or else where its function is. */
function described({ ts, checker }, property) {
  for (const declaration of [...(property.declarations ?? []), ...functionsOf(ts, checker, property)]) {
    const description = descriptionOf(ts, declaration);
    if (description) return { description };
  }
  return {};
}

function functionsOf(ts, checker, property) {
  const declaration = property.valueDeclaration;
  if (!declaration) return [];
  const symbol = ts.isShorthandPropertyAssignment(declaration)
    ? checker.getShorthandAssignmentValueSymbol(declaration)
    : declaration.initializer && checker.getSymbolAtLocation(declaration.initializer);
  return symbol ? resolved(ts, checker, symbol).declarations ?? [] : [];
}

function resolved(ts, checker, symbol) {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function unwrapped(ts, node) {
  let inner = node;
  while (ts.isAsExpression(inner) || ts.isSatisfiesExpression(inner) || ts.isParenthesizedExpression(inner)) inner = inner.expression;
  if (ts.isCallExpression(inner) && inner.expression.getText() === 'Object.freeze') return unwrapped(ts, inner.arguments[0]);
  return inner;
}

/** An error of a build, in the form of failure.mjs. */
function problemOf({ ts, folder }, { message, node, suggestion }) {
  const what = ts.isParameter(node) || node.name === undefined ? '' : `\`${node.name.getText()}\`: `;
  return {
    text: `${what}${message}`,
    ...placeOf(node, folder),
    suggestion: suggestion ?? 'use types of values that JSON has, or describe the parameters in the manifest',
  };
}

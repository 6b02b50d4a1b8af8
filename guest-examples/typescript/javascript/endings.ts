/** What a program returns that is the body of a function: what the function in it returns, or what it exports. */
import type { AnyNode, CallExpression, Expression, Program } from 'acorn';
import type { Edits } from './edits';

type Statement = Program['body'][number];

/** Lets a body that is one function, or one call of a function that is written there, return what that returns. */
export function returnOnly({ body }: Program, edits: Edits): boolean {
  const [only] = body;
  if (!only || body.length > 1) return false;
  const isDefault = only.type === 'ExportDefaultDeclaration';
  const value = isDefault ? only.declaration : only.type === 'ExpressionStatement' ? only.expression : only;
  const inner = withoutParentheses(value);
  const isCall = inner.type === 'CallExpression' && isFunction(withoutParentheses(inner.callee));
  if (!isCall && !isFunction(inner)) return false;
  if (isDefault) edits.replace(only.start, value.start, '');
  edits.around(value.start, value.end, 'return (', isCall ? ')' : `)(${argumentsFor(inner)})`);
  return true;
}

function withoutParentheses(node: AnyNode): AnyNode {
  return node.type === 'ParenthesizedExpression' ? withoutParentheses(node.expression) : node;
}

type Function = Extract<AnyNode, { params: unknown }>;

function isFunction(node: AnyNode | Expression): node is Function {
  return ['ArrowFunctionExpression', 'FunctionExpression', 'FunctionDeclaration'].includes(node.type);
}

/** What the parameters of a function get that the program does not call itself. */
function argumentsFor(node: AnyNode | undefined): string {
  return node === undefined ? 'args' : isFunction(node) ? node.params.map(argumentFor).join() : '';
}

function argumentFor(parameter: AnyNode, index: number): string {
  if (parameter.type === 'ObjectPattern') return '{tools,args,console}';
  if (parameter.type === 'Identifier' && ['tools', 'console'].includes(parameter.name)) return parameter.name;
  return index === 0 || (parameter.type === 'Identifier' && parameter.name === 'args') ? 'args' : 'undefined';
}

/** Returns what stands at the end: a call of what the program exports, or what there is to say where it returns nothing. */
export function endOf({ body }: Program, edits: Edits, placeOf: (at: number) => string): string {
  const exported = exportOf(body);
  if (exported && !isCalled(exported.name, body, edits.source)) {
    const { value, node } = exported;
    return `;return typeof ${value}==="function"?${value}(${argumentsFor(node)}):${value}`;
  }
  const [name, node] = uncalled(body);
  if (name) return `;$uncalled(${JSON.stringify(`${name}(${argumentsFor(node)})`)},${JSON.stringify(placeOf(node!.start))})`;
  return noteLast(body.at(-1), edits);
}

interface Exported {
  /** How the program may call it; empty for a function without a name. */
  name: string;
  value: string;
  /** The function, where it is written out. */
  node: AnyNode | undefined;
}

function exportOf(body: readonly Statement[]): Exported | undefined {
  for (const statement of body) {
    if (statement.type === 'ExportNamedDeclaration') {
      const local = statement.specifiers.find(({ exported }) => 'name' in exported && exported.name === 'default')?.local;
      if (local && 'name' in local && !statement.source) return { name: local.name, value: local.name, node: definition(local.name, body) };
    }
    const node = exportedBy(statement);
    if (!node) continue;
    const isDefault = statement.type === 'ExportDefaultDeclaration';
    if (node.type === 'Identifier') return { name: node.name, value: isDefault ? '$default' : 'module.exports', node: definition(node.name, body) };
    const name = 'id' in node && node.id && 'name' in node.id ? node.id.name : '';
    const value = isDefault ? (node.type === 'FunctionDeclaration' && name) || '$default' : 'module.exports';
    return { name: value === name ? name : value, value, node };
  }
  return undefined;
}

/** Returns what `export default` or `module.exports =` exports. */
function exportedBy(statement: Statement): AnyNode | undefined {
  if (statement.type === 'ExportDefaultDeclaration') return withoutParentheses(statement.declaration);
  if (statement.type !== 'ExpressionStatement' || statement.expression.type !== 'AssignmentExpression') return undefined;
  const { left, right } = statement.expression;
  const isExports = left.type === 'MemberExpression' && left.object.type === 'Identifier' && left.object.name === 'module' && !left.computed && left.property.type === 'Identifier' && left.property.name === 'exports';
  return isExports ? withoutParentheses(right) : undefined;
}

/** Returns the function that a name of the program stands for. */
function definition(name: string, body: readonly Statement[]): AnyNode | undefined {
  return definitions(body).findLast(([each]) => each === name)?.[1];
}

function definitions(body: readonly Statement[]): [string, AnyNode][] {
  return body.flatMap((statement): [string, AnyNode][] => {
    const node = statement.type === 'ExportNamedDeclaration' && statement.declaration ? statement.declaration : statement;
    if (node.type === 'FunctionDeclaration' && node.id) return [[node.id.name, node]];
    if (node.type !== 'VariableDeclaration') return [];
    return node.declarations.flatMap(({ id, init }) => (id.type === 'Identifier' && init && isFunction(init) ? [[id.name, init]] : []));
  });
}

/** Whether a statement that is not a definition calls a function. */
function isCalled(name: string, body: readonly Statement[], source: string): boolean {
  if (!name) return false;
  const call = new RegExp(`(?<![\\w$.])${name.replaceAll('$', '\\$')}\\s*\\(`);
  const defined = new Set(definitions(body).map(([, node]) => node));
  const isDefinition = (node: Statement) => defined.has(node) || node.type === 'ExportDefaultDeclaration' || (node.type === 'VariableDeclaration' && node.declarations.some(({ init }) => defined.has(init!)));
  return body.some((node) => !isDefinition(node) && node.type !== 'ImportDeclaration' && call.test(source.slice(node.start, node.end)));
}

/** Returns the last function of a program that does nothing but define some. */
function uncalled(body: readonly Statement[]): [string, AnyNode] | [] {
  const all = definitions(body);
  const isStill = (statement: Statement): boolean => {
    const node = statement.type === 'ExportNamedDeclaration' && statement.declaration ? statement.declaration : statement;
    if (node.type === 'VariableDeclaration') return node.declarations.every(({ init }) => !init || isFunction(init) || init.type === 'Literal');
    return ['FunctionDeclaration', 'ClassDeclaration', 'ImportDeclaration', 'ExportNamedDeclaration', 'EmptyStatement'].includes(node.type);
  };
  return body.every(isStill) ? (all.find(([name]) => name === 'main') ?? all.at(-1) ?? []) : [];
}

const VALUES = ['Identifier', 'Literal', 'TemplateLiteral', 'ArrayExpression', 'BinaryExpression', 'MemberExpression'];

const MAX_TEXT = 60;

/** Notes that the value at the end is not returned, if it is one that was meant to be. */
function noteLast(last: Statement | undefined, edits: Edits): string {
  const hint = (text: string) => JSON.stringify(`nothing is returned, so the result is null: end with \`return ${text}\``);
  if (last?.type === 'VariableDeclaration') {
    const { id, init } = last.declarations.at(-1)!;
    return id.type === 'Identifier' && init && !isFunction(init) ? `;$last(${id.name},${hint(id.name)})` : '';
  }
  if (last?.type !== 'ExpressionStatement' || last.directive !== undefined) return '';
  const { expression } = last;
  const value = withoutParentheses(expression.type === 'AwaitExpression' ? expression.argument : expression);
  if (!VALUES.includes(value.type) && !callsOwn(value)) return '';
  const text = edits.source.slice(expression.start, expression.end);
  const isShort = text.length <= MAX_TEXT && !text.includes('\n');
  edits.around(expression.start, expression.end, '$last((', `),${hint(isShort ? text : '…')})`);
  return '';
}

function callsOwn(node: AnyNode): node is CallExpression {
  if (node.type !== 'CallExpression') return false;
  const callee = withoutParentheses(node.callee);
  return callee.type === 'Identifier' || isFunction(callee);
}

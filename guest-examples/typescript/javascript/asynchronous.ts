/** `async` and `await` as generators: the engine does not run its own promises, and the runtime's class follows generators. */
import { placeAwait, placeNextCall, runAsyncFunction } from 'toolhost/async';
import type { AnyNode, ArrowFunctionExpression, CallExpression, ForOfStatement, Function as FunctionNode, Identifier, MemberExpression, MethodDefinition, Property } from 'acorn';
import type { Edits } from './edits';
import { Misuse } from './misuse';
import type { Parsed } from './parser';

/** What stands in the changed text where no statement of the program stands. */
export const MADE = /\$async/;

/** The helpers that the changed text names. */
export const HELPERS = { $async: runAsyncFunction, $asyncGenerator: asyncGenerator, $await: (value: unknown) => new Awaited(value), $delegate: delegate, $steps: steps, $place: placeNextCall, $at: placeAwait, $needsAwait: needsAwait, $uncalled: uncalled };

/** `hasSuper`: `$super` stands for `super`, which a generator within a method has not. */
type Context = { kind: 'sync' | 'async' | 'generator'; hasSuper?: boolean };
/** Returns the line of a stack for an offset in the source. */
type PlaceOf = (at: number) => string;
type Within = { node: AnyNode; context: Context };

const SYNC: Context = { kind: 'sync' };

/** Replaces what is asynchronous. `isAsync`: whether the program is the body of a generator. */
export function replaceAsync({ program, noted }: Parsed, edits: Edits, isAsync: boolean, placeOf: PlaceOf): void {
  const outer: Within[] = [{ node: program, context: isAsync ? { kind: 'async' } : SYNC }];
  const names = new Map<AnyNode, string>();
  // From the end: each node comes before what is within it.
  for (let at = noted.length - 1; at >= 0; at -= 1) {
    const node = noted[at]!;
    let within = outer.at(-1)!;
    while (outer.length > 1 && (node.start < within.node.start || node.end > within.node.end)) {
      outer.pop();
      within = outer.at(-1)!;
    }
    const named = namedFunction(node);
    if (named) names.set(...named);
    const context = replace(node, within.context, names.get(node), edits, placeOf);
    if (context !== within.context) outer.push({ node, context });
  }
}

/** Returns a function that gets its name from the node that it is in. */
function namedFunction(node: AnyNode): [AnyNode, string] | undefined {
  if (node.type === 'VariableDeclarator') return node.init?.type.endsWith('Expression') && node.id.type === 'Identifier' ? [node.init, node.id.name] : undefined;
  const isMember = node.type === 'Property' || node.type === 'MethodDefinition' || node.type === 'PropertyDefinition';
  return isMember && node.value && !node.computed && node.key.type === 'Identifier' ? [node.value, node.key.name] : undefined;
}

/** Replaces one node, and returns the context of what is within it. */
function replace(node: AnyNode, context: Context, name: string | undefined, edits: Edits, placeOf: PlaceOf): Context {
  const awaited = context.kind === 'generator' ? ['(yield $await(', '))'] : ['(yield(', '))'];
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'ArrowFunctionExpression':
      return replaceFunction(node, context, name ?? ('id' in node ? node.id?.name : undefined), edits);
    case 'MethodDefinition':
    case 'Property':
      if ((node.type === 'MethodDefinition' || node.method) && (node.value as FunctionNode).async) withoutAsync(node, edits);
      return context;
    case 'ExpressionStatement':
      // A line that begins with a parenthesis would continue the line before.
      if (beginsAnew(node.expression)) edits.insert(node.start, '0,');
      return context;
    case 'AwaitExpression':
      // A call of a tool says its own place, and a literal needs no wait.
      if (context.kind === 'generator' || node.argument.type === 'Literal' || callsTool(node.argument)) edits.around(node.start, node.end, awaited[0]!, awaited[1]!);
      else edits.around(node.start, node.end, '(yield $at((', `),${JSON.stringify(placeOf(node.start))}))`);
      edits.replace(node.start, node.start + 'await'.length, '');
      return context;
    case 'YieldExpression':
      if (context.kind === 'generator' && node.delegate && node.argument) edits.around(node.argument.start, node.argument.end, '$delegate(', ')');
      return context;
    case 'ForOfStatement':
      if (node.await) replaceLoop(node, awaited as [string, string], edits);
      return context;
    case 'CallExpression':
      placeCall(node, edits, placeOf);
      if (context.hasSuper && node.callee.type === 'MemberExpression' && node.callee.object.type === 'Super') {
        const open = edits.source.indexOf('(', node.callee.end);
        edits.replace(open, open + 1, '.call(this,');
      }
      return context;
    case 'MemberExpression':
      if (callsTool(node.object) && (node.computed || !OF_PROMISES.includes((node.property as Identifier).name))) {
        edits.around(node.object.start, node.object.end, '$needsAwait(', `,${JSON.stringify(placeOf(node.object.start))})`);
      }
      if (context.hasSuper && node.object.type === 'Super' && !node.computed) {
        edits.replace(node.start, node.end, `$super(${JSON.stringify(edits.source.slice(node.property.start, node.property.end))})`);
      } else if (context.hasSuper && node.object.type === 'Super') {
        edits.replace(node.start, node.property.start, '$super(');
        edits.replace(node.property.end, node.end, ')');
      }
      return context;
    case 'ImportExpression':
      edits.replace(node.start, node.start + 'import'.length, '$import');
      return context;
    case 'MetaProperty':
      if (node.meta.name === 'import') edits.replace(node.start, node.end, '$meta');
      return context;
    default:
      return context;
  }
}

/** The functions of `tools` that call none. */
const CALLS_NONE = ['search', 'describe', 'names'];

const OF_PROMISES = ['then', 'catch', 'finally'];

/** Whether an expression is a call of a function of `tools`. */
function callsTool(node: AnyNode): node is CallExpression & { callee: MemberExpression } {
  if (node.type === 'ParenthesizedExpression') return callsTool(node.expression);
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return false;
  let root: AnyNode = node.callee;
  while (root.type === 'MemberExpression') root = root.object;
  return root.type === 'Identifier' && root.name === 'tools';
}

/** Returns what is not a promise: the value of an expression of which a property is read. */
function needsAwait(value: unknown, place: string): unknown {
  if (!(value instanceof Promise)) return value;
  throw new Misuse('a property is read of what is still a promise', 'write `await` before the call, and parentheses around both: `(await tools.names()).length`', place);
}

function uncalled(call: string, place: string): never {
  throw new Misuse(`nothing calls \`${call.slice(0, call.indexOf('('))}\``, `end with \`return await ${call}\``, place);
}

/** Has the call of a tool say its place, right before it is made: the runtime need not look for it. */
function placeCall(node: CallExpression, edits: Edits, placeOf: PlaceOf): void {
  if (!callsTool(node)) return;
  const { callee, arguments: args, start, end } = node;
  if (callee.object.type === 'Identifier' && !callee.computed && CALLS_NONE.includes((callee.property as Identifier).name)) return;
  const place = JSON.stringify(placeOf(start));
  const last = args.at(-1);
  if (!last) edits.insert(end - 1, `$place(${place})`);
  else if (last.type !== 'SpreadElement') edits.around(last.start, last.end, `$place(${place},`, ')');
}

/** Whether an expression begins with one that begins with a parenthesis when it is replaced. */
function beginsAnew(node: AnyNode): boolean {
  for (let first: AnyNode | undefined = node; first; first = firstOf(first)) {
    if (first.type === 'AwaitExpression' || (first.type === 'ArrowFunctionExpression' && first.async)) return true;
  }
  return false;
}

function firstOf(node: AnyNode): AnyNode | undefined {
  const children = Object.values(node).flat() as (AnyNode | undefined)[];
  return children.find((each) => typeof each?.type === 'string' && each.start === node.start);
}

function replaceFunction(node: FunctionNode | ArrowFunctionExpression, outer: Context, name: string | undefined, edits: Edits): Context {
  const isArrow = node.type === 'ArrowFunctionExpression';
  if (!node.async) return isArrow ? { ...outer, kind: 'sync' } : SYNC;
  const { body } = node;
  const source = edits.source;
  const isMethod = !isArrow && !source.startsWith('async', node.start);
  if (!isMethod) edits.replace(node.start, node.start + 'async'.length, '');
  if (node.generator && !isMethod) removeStar(source.indexOf('function', node.start), body.start, edits);
  const text = source.slice(node.start, node.end);
  const helper = node.generator ? '$asyncGenerator' : '$async';
  const args = !isArrow || (/\barguments\b/.test(text) && outer !== SYNC) ? 'arguments' : '[]';
  const usesSuper = isMethod && /\bsuper\b/.test(text);
  const label = name && /^[A-Za-z_$][\w$]*$/.test(name) && name !== '__proto__' ? name : undefined;
  const start = label ? `{*${label}(){` : 'function*(){';
  const end = label ? `}}.${label})` : '})';
  const begin = `${helper}(this,${args},${start}`;
  if (body.type === 'BlockStatement') {
    edits.around(body.start + 1, body.end - 1, `${usesSuper ? 'const $super=$key=>super[$key];' : ''}return ${begin}`, end);
  } else {
    edits.around(body.start, body.end, `${begin}return(`, `)${end}`);
  }
  return { kind: node.generator ? 'generator' : 'async', hasSuper: usesSuper || (isArrow && outer.hasSuper) };
}

/** Takes `async` and `*` from a method. */
function withoutAsync(node: MethodDefinition | Property, edits: Edits): void {
  const head = withoutComments(edits.source.slice(node.start, node.key.start));
  const at = node.start + /^(static\b\s*)?/.exec(head)![0].length;
  // In a class, a field without a semicolon may come before.
  edits.replace(at, at + 'async'.length, node.type === 'MethodDefinition' && !node.static ? ';' : '');
  if ((node.value as FunctionNode).generator) removeStar(at, node.key.start, edits);
}

function removeStar(from: number, to: number, edits: Edits): void {
  const star = from + withoutComments(edits.source.slice(from, to)).indexOf('*');
  edits.replace(star, star + 1, '');
}

/** Returns a text of the same length with spaces for comments. */
function withoutComments(text: string): string {
  return text.replace(/\/\*.*?\*\/|\/\/.*/gs, (comment) => ' '.repeat(comment.length));
}

/** `for await (const x of y) …`: a loop over steps, each of which waits for the next value. */
function replaceLoop(node: ForOfStatement, [before, after]: [string, string], edits: Edits): void {
  const { left, right, body } = node;
  const target = edits.source.slice(left.start, left.end);
  const step = `$step${node.start}`;
  const isDeclared = left.type === 'VariableDeclaration';
  const set = isDeclared ? `${target}=${step}.value;` : `(${target}=${step}.value);`;
  edits.replace(node.start + 'for'.length, right.start, ` (const ${step} of $steps(`);
  edits.insert(right.end, ')');
  edits.around(body.start, body.end, `{if(!${before}${step}.next()${after})break;${set}`, '}');
}

type Step = { value: unknown; next(): Promise<boolean> };

function steps(source: any): Iterable<Step> {
  const isAsync = source[Symbol.asyncIterator] !== undefined && source[Symbol.asyncIterator] !== null;
  const iterator = isAsync ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  let isDone = false;
  const step: Step = {
    value: undefined,
    async next() {
      const { done, value } = await iterator.next();
      isDone = Boolean(done);
      step.value = isAsync || isDone ? value : await value;
      return !isDone;
    },
  };
  const each = {
    next: () => ({ done: false, value: step }),
    return: () => {
      if (!isDone) iterator.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.iterator]: () => each } as Iterable<Step>;
}

/** What an async generator waits for, unlike what it yields. */
class Awaited {
  constructor(readonly value: unknown) {}
}

function* delegate(source: any): Generator<unknown, unknown, unknown> {
  const iterator = (source[Symbol.asyncIterator] ?? source[Symbol.iterator]).call(source);
  for (let sent: unknown; ; ) {
    const { done, value } = (yield new Awaited(iterator.next(sent))) as IteratorResult<unknown>;
    if (done) return value;
    sent = yield value;
  }
}

type Way = 'next' | 'throw' | 'return';

function asyncGenerator(self: unknown, args: ArrayLike<any>, start: (...args: any[]) => Iterator<any>): AsyncGenerator {
  const generator = start.apply(self, args as any[]) as Generator<any>;
  let last: Promise<unknown> = Promise.resolve();
  const advance = async (way: Way, sent: unknown): Promise<IteratorResult<unknown>> => {
    let result = generator[way](sent as never);
    while (!result.done && result.value instanceof Awaited) {
      let value: unknown;
      try {
        value = await result.value.value;
      } catch (error) {
        result = generator.throw(error);
        continue;
      }
      result = generator.next(value as never);
    }
    return { value: await result.value, done: result.done ?? false };
  };
  // One request after another.
  const request = (way: Way) => (sent: unknown) => {
    const result = last.then(() => advance(way, sent));
    last = result.catch(() => {});
    return result;
  };
  const made = { next: request('next'), throw: request('throw'), return: request('return'), [Symbol.asyncIterator]: () => made };
  return made as unknown as AsyncGenerator;
}

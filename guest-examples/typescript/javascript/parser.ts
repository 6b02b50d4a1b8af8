/** The parser of programs: acorn, quicker where the engine is an interpreter. */
import { Parser, type AnyNode, type Options, type Program } from 'acorn';

/** What acorn asks whether a word is reserved. */
interface Words {
  test(word: string): boolean;
}

type Internals = { keywords: Words; reservedWords: Words; reservedWordsStrict: Words; reservedWordsStrictBind: Words; lastTokEnd: number; pos: number; containsEsc: boolean; readWord1(): string };

const sets = new Map<Words, Words>();

/** Returns a set of the words of acorn's regular expression, which tries them one after the other. */
function setOf(expression: Words): Words {
  let words = sets.get(expression);
  if (!words) {
    const set = new Set((expression as RegExp).source.slice('^(?:'.length, -')$'.length).split('|'));
    words = Object.assign(set, { test: set.has });
    sets.set(expression, words);
  }
  return words;
}

/** What replaceAsync changes, or takes the name of a function from. */
const NOTED = new Set<string>([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
  'VariableDeclarator',
  'Property',
  'MethodDefinition',
  'PropertyDefinition',
  'ExpressionStatement',
  'AwaitExpression',
  'YieldExpression',
  'ForOfStatement',
  'CallExpression',
  'MemberExpression',
  'ImportExpression',
  'MetaProperty',
]);

const { readWord1 } = Parser.prototype as unknown as Internals;

class ProgramParser extends Parser {
  /** Nodes of these types, each after what is within it. */
  readonly noted: AnyNode[] = [];

  constructor(options: Options, input: string) {
    super(options, input);
    const internals = this as unknown as Internals;
    for (const name of ['keywords', 'reservedWords', 'reservedWordsStrict', 'reservedWordsStrictBind'] as const) {
      internals[name] = setOf(internals[name]);
    }
  }

  /** Called by acorn, which asks four functions for each character. */
  readWord1(): string {
    const state = this as unknown as Internals;
    const { input } = this;
    let end = state.pos;
    let code = input.charCodeAt(end);
    while ((code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95 || code === 36) {
      end += 1;
      code = input.charCodeAt(end);
    }
    // A backslash begins an escape.
    if (code > 127 || code === 92) return readWord1.call(this);
    const word = input.slice(state.pos, end);
    state.containsEsc = false;
    state.pos = end;
    return word;
  }

  /** Called by acorn. */
  finishNode(node: AnyNode, type: AnyNode['type']): AnyNode {
    node.type = type;
    node.end = (this as unknown as Internals).lastTokEnd;
    if (NOTED.has(type) && (node.type !== 'MemberExpression' || node.object.type === 'Super' || node.object.type === 'CallExpression')) this.noted.push(node);
    return node;
  }
}

export interface Parsed {
  program: Program;
  /** The nodes that replaceAsync reads, each after what is within it: to look through the whole tree takes longer. */
  noted: AnyNode[];
}

export function parse(source: string, options: Options): Parsed {
  const parser = new ProgramParser(options, source);
  return { program: parser.parse(), noted: parser.noted };
}

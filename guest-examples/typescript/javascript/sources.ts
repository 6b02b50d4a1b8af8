/** The sources of a program: each is changed to what the engine runs, and evaluated at lines of its own. */
import type { Expression, Program } from 'acorn';
import { HELPERS, MADE, replaceAsync } from './asynchronous';
import { Edits, type Changed, type Place } from './edits';
import { endOf, returnOnly } from './endings';
import { replaceModule } from './modules';
import { parse, type Parsed } from './parser';

/** A module has top-level `await`; a script is what `require` loads; a body is a function without a name. */
export type Kind = 'module' | 'script' | 'body';

type Given = Record<string, unknown>;
type Body = (...args: any[]) => any;

/** More lines than the code of the tool has, which is minified. All code of a component has one file in the engine's stacks. */
const FIRST_LINE = 500;

/** A frame of the engine's stack: `at name (<input>:12:3)`. What a program says of a call has `source` for `input`, and places of the source. */
const FRAME = /^\s*at (?:(.*?) \()?<(input|source)>:(\d+):(\d+)\)?$/;

export interface Frame extends Place {
  name: string;
  file: string;
  text: string;
}

interface Source {
  file: string;
  firstLine: number;
  changed: Changed;
}

export class Sources {
  readonly #sources: Source[] = [];
  #nextLine = FIRST_LINE;

  /** Returns the function of a source that may name what is given, as a generator except for a script. Throws a SyntaxError with its place. */
  evaluate(source: string, file: string, kind: Kind, given: Given): Body {
    const whole = parsed(source, file, kind);
    const { program } = whole;
    const edits = new Edits(source);
    if (source.startsWith('#!')) edits.insert(0, '//');
    const isReturned = kind === 'body' && returnOnly(program, edits);
    const firstLine = this.#nextLine;
    const placeOf = (at: number) => {
      const lines = source.slice(0, at).split('\n');
      return `    at <source>:${firstLine + lines.length - 1}:${lines.at(-1)!.length + 1}\n`;
    };
    if (kind !== 'script' && !isReturned) noteFloating(program, edits, kind === 'body' ? placeOf : undefined);
    const tail = kind === 'body' && !isReturned ? endOf(program, edits, placeOf) : '';
    const head = isReturned ? '' : replaceModule(program, edits);
    this.#nextLine += source.split('\n').length + 10;
    replaceAsync(whole, edits, kind !== 'script', placeOf);
    const all: Given = { ...given, ...HELPERS };
    const star = kind === 'script' ? '' : '*';
    const text = edits.changed('', '').text + head + tail;
    // The engine reads the name of each parameter.
    const names = Object.keys(all).filter((name) => text.includes(name));
    const changed = edits.changed(`(function(${names.join()}){return function${star}(){${head}`, `\n${tail}}})`);
    this.#sources.push({ file, firstLine, changed });
    const make = evaluate('\n'.repeat(firstLine - 1) + changed.text) as (...values: unknown[]) => Body;
    return make(...names.map((name) => all[name]));
  }

  /** Returns a stack with the place of a function, from its text. */
  stackOf(text: string): string {
    for (const { changed, firstLine } of this.#sources) {
      const at = changed.text.indexOf(text);
      const lines = changed.text.slice(0, at).split('\n');
      if (at >= 0) return `    at <input>:${firstLine + lines.length - 1}:${lines.at(-1)!.length + 1}`;
    }
    return '';
  }

  /** Returns the frames of a stack that lie in the sources. */
  frames(stack: string | undefined): Frame[] {
    return (stack ?? '').split('\n').flatMap((text) => {
      const [, name = '', where, of, at] = FRAME.exec(text) ?? [];
      const source = this.#sources.findLast(({ firstLine }) => firstLine <= Number(of));
      const [line, column] = [Number(of) - (source?.firstLine ?? 0) + 1, Number(at)];
      const place = where === 'source' ? { line, column } : source?.changed.placeOf(line, column, MADE);
      if (!source || !place) return [];
      const called = name === '<anonymous>' || name === 'anonymous' ? '' : name;
      return [{ ...place, name: called, file: source.file, text: lineOf(source.changed.source, place.line) }];
    });
  }
}

const evaluate = globalThis.eval;

export function lineOf(source: string, line: number): string {
  return source.split('\n')[line - 1] ?? '';
}

/** An error of the parser, with its place. */
export class ParseError extends SyntaxError {
  constructor(
    message: string,
    readonly place: Place & { file: string; text: string },
  ) {
    super(message);
  }
}

Object.defineProperty(ParseError.prototype, 'name', { value: 'SyntaxError' });

function parsed(source: string, file: string, kind: Kind): Parsed {
  try {
    return parse(source, {
      ecmaVersion: 'latest',
      sourceType: kind === 'script' ? 'script' : 'module',
      allowHashBang: true,
      allowReturnOutsideFunction: true,
      allowAwaitOutsideFunction: kind !== 'script',
      preserveParens: true,
    });
  } catch (error) {
    const { message, loc } = error as { message: string; loc?: Place };
    if (!loc) throw error;
    const place = { line: loc.line, column: loc.column + 1, file, text: lineOf(source, loc.line) };
    throw new ParseError(message.replace(/ \(\d+:\d+\)$/, ''), place);
  }
}

/** Notes the promises of statements, which nothing else waits for, and those that variables of a body hold. */
function noteFloating(program: Program, edits: Edits, placeOf?: (at: number) => string): void {
  const hold = ({ type, start, end }: Expression) => {
    if (type === 'CallExpression' || type === 'NewExpression') edits.around(start, end, '$hold((', `),${JSON.stringify(placeOf!(start))})`);
  };
  for (const node of program.body) {
    if (placeOf && node.type === 'VariableDeclaration') for (const { init } of node.declarations) if (init) hold(init);
    if (placeOf && node.type === 'ExpressionStatement' && node.expression.type === 'AssignmentExpression') {
      hold(node.expression.right);
      continue;
    }
    if (node.type !== 'ExpressionStatement' || node.directive !== undefined || node.expression.type === 'AwaitExpression') continue;
    const line = edits.source.slice(0, node.start).split('\n').length;
    edits.around(node.expression.start, node.expression.end, '$float((', `),${line})`);
  }
}

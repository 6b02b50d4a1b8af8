/** Makes the body of a function of a module: `import` and `export` become calls. */
import { parse, type AnyNode, type Expression, type ModuleDeclaration, type Pattern, type Program } from 'acorn';

export type Kind = 'module' | 'script';

interface Edit {
  start: number;
  end: number;
  text: string;
}

/** Returns the body, each of whose lines has the statements that the line of the source has. */
export function body(source: string, file: string, kind: Kind): string {
  const rewriter = new Rewriter(source);
  rewriter.visit(parsed(source, file, kind));
  return rewriter.text();
}

function parsed(source: string, file: string, kind: Kind): Program {
  try {
    return parse(source, {
      ecmaVersion: 'latest',
      sourceType: kind,
      allowHashBang: true,
      allowReturnOutsideFunction: true,
      allowAwaitOutsideFunction: kind === 'module',
    });
  } catch (error) {
    const { message, loc } = error as { message: string; loc?: { line: number; column: number } };
    if (!loc) throw error;
    const reason = message.replace(/ \(\d+:\d+\)$/, '');
    throw new SyntaxError(`${reason}\n    at ${file}:${loc.line}:${loc.column + 1}`);
  }
}

class Rewriter {
  readonly #edits: Edit[] = [];
  /** What comes before the first statement. */
  #head = '';
  #isModule = false;
  readonly #getters: string[] = [];

  constructor(readonly source: string) {}

  visit(program: Program): void {
    for (const node of program.body) {
      switch (node.type) {
        case 'ImportDeclaration':
        case 'ExportNamedDeclaration':
        case 'ExportDefaultDeclaration':
        case 'ExportAllDeclaration':
          this.#module(node);
          break;
        case 'ExpressionStatement':
          if (node.directive === undefined) this.#float(node.expression);
          break;
      }
    }
    if (this.source.startsWith('#!')) this.#edits.push({ start: 0, end: 0, text: '//' });
    for (const node of nodes(program)) this.#expression(node);
  }

  /** Notes the promise of a statement, which nothing else waits for. */
  #float({ start, end }: Expression): void {
    this.#edits.push({ start, end: start, text: '$float(' }, { start: end, end, text: ')' });
  }

  #expression(node: AnyNode): void {
    if (node.type === 'ImportExpression') {
      this.#edits.push({ start: node.start, end: node.start + 'import'.length, text: '$import' });
    } else if (node.type === 'MetaProperty' && node.meta.name === 'import') {
      this.#replace(node, '$meta');
    }
  }

  #replace({ start, end }: { start: number; end: number }, text: string): void {
    const lines = this.source.slice(start, end).replace(/[^\n]/g, '');
    this.#edits.push({ start, end, text: text + lines });
  }

  #module(node: ModuleDeclaration): void {
    switch (node.type) {
      case 'ImportDeclaration': {
        const from = JSON.stringify(node.source.value);
        const [names, locals]: [string[], string[]] = [[], []];
        let text = '';
        for (const specifier of node.specifiers) {
          const { name } = specifier.local;
          if (specifier.type === 'ImportNamespaceSpecifier') {
            text += `const ${name} = await $import(${from}); `;
            continue;
          }
          names.push(specifier.type === 'ImportSpecifier' ? nameOf(specifier.imported) : 'default');
          locals.push(name);
        }
        text += `const [${locals.join(', ')}] = await $import(${from}, ${JSON.stringify(names)});`;
        this.#isModule = true;
        this.#replace(node, text);
        break;
      }
      case 'ExportNamedDeclaration':
        this.#exportNamed(node);
        break;
      case 'ExportDefaultDeclaration': {
        const { declaration } = node;
        const isNamed = 'id' in declaration && declaration.id && declaration.type.endsWith('Declaration');
        if (isNamed) {
          this.#getter('default', (declaration.id as { name: string }).name);
          this.#edits.push({ start: node.start, end: declaration.start, text: '' });
        } else {
          this.#head += 'let $default; ';
          this.#getter('default', '$default');
          this.#edits.push({ start: node.start, end: declaration.start, text: '$default = ' });
        }
        break;
      }
      case 'ExportAllDeclaration': {
        const from = JSON.stringify(node.source.value);
        const name = `$all${this.#getters.length}`;
        if (node.exported) this.#getter(nameOf(node.exported), name);
        else this.#getters.push(`...Object.fromEntries(Object.keys(${name}).filter(key => key !== 'default').map(key => [key, () => ${name}[key]]))`);
        this.#replace(node, '');
        this.#head += `const ${name} = await $import(${from}); `;
        break;
      }
    }
  }

  #exportNamed(node: ModuleDeclaration & { type: 'ExportNamedDeclaration' }): void {
    if (node.declaration) {
      for (const name of declared(node.declaration)) this.#getter(name, name);
      this.#edits.push({ start: node.start, end: node.declaration.start, text: '' });
      return;
    }
    const [names, locals]: [string[], string[]] = [[], []];
    for (const specifier of node.specifiers) {
      let local = nameOf(specifier.local);
      if (node.source) {
        names.push(local);
        local = `$from${this.#getters.length}`;
        locals.push(local);
      }
      this.#getter(nameOf(specifier.exported), local);
    }
    if (node.source) {
      this.#head += `const [${locals.join(', ')}] = await $import(${JSON.stringify(node.source.value)}, ${JSON.stringify(names)}); `;
    }
    this.#replace(node, '');
  }

  #getter(exported: string, local: string): void {
    this.#getters.push(`${JSON.stringify(exported)}: () => ${local}`);
  }

  text(): string {
    const exports = this.#getters.length > 0 ? `$export({${this.#getters.join(', ')}}); ` : '';
    const isModule = this.#isModule || this.#head !== '' || exports !== '';
    let text = '';
    let at = 0;
    for (const edit of this.#edits.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
      text += this.source.slice(at, edit.start) + edit.text;
      at = edit.end;
    }
    return `${isModule ? '"use strict"; ' : ''}${this.#head}${exports}${text}${this.source.slice(at)}`;
  }
}

function nameOf(node: { type: string; name?: string; value?: unknown }): string {
  return String(node.name ?? node.value);
}

/** The names that a declaration sets. */
function declared(node: AnyNode): string[] {
  if (node.type === 'VariableDeclaration') return node.declarations.flatMap(({ id }) => inPattern(id));
  return 'id' in node && node.id && 'name' in node.id ? [node.id.name] : [];
}

function inPattern(pattern: Pattern): string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name];
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => (element ? inPattern(element) : []));
    case 'ObjectPattern':
      return pattern.properties.flatMap((each) => inPattern(each.type === 'RestElement' ? each : each.value));
    case 'RestElement':
      return inPattern(pattern.argument);
    case 'AssignmentPattern':
      return inPattern(pattern.left);
    default:
      return [];
  }
}

/** All nodes of a tree. */
function* nodes(root: AnyNode): Generator<AnyNode> {
  const waiting: AnyNode[] = [root];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    yield node;
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? value : [value]) {
        if (typeof child?.type === 'string') waiting.push(child as AnyNode);
      }
    }
  }
}

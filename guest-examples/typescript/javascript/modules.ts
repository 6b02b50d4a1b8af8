/** `import` and `export` as calls: a module becomes the body of a function. */
import type { AnyNode, ModuleDeclaration, Pattern, Program } from 'acorn';
import type { Edits } from './edits';

/** Replaces the declarations of a module. Returns what comes before its first statement. */
export function replaceModule(program: Program, edits: Edits): string {
  const module = new Module(edits);
  for (const node of program.body) {
    switch (node.type) {
      case 'ImportDeclaration':
      case 'ExportNamedDeclaration':
      case 'ExportDefaultDeclaration':
      case 'ExportAllDeclaration':
        module.replace(node);
    }
  }
  return module.head();
}

class Module {
  #head = '';
  #isModule = false;
  readonly #getters: string[] = [];

  constructor(readonly edits: Edits) {}

  replace(node: ModuleDeclaration): void {
    this.#isModule = true;
    const { start, end } = node;
    switch (node.type) {
      case 'ImportDeclaration': {
        const from = JSON.stringify(node.source.value);
        const [names, locals]: [string[], string[]] = [[], []];
        let text = '';
        for (const specifier of node.specifiers) {
          const { name } = specifier.local;
          if (specifier.type === 'ImportNamespaceSpecifier') {
            text += `const ${name} = yield $import(${from}); `;
            continue;
          }
          names.push(specifier.type === 'ImportSpecifier' ? nameOf(specifier.imported) : 'default');
          locals.push(name);
        }
        text += `const [${locals.join(', ')}] = yield $import(${from}, ${JSON.stringify(names)});`;
        this.edits.replace(start, end, text);
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
          this.edits.replace(start, declaration.start, '');
        } else {
          this.#head += 'let $default; ';
          this.#getter('default', '$default');
          this.edits.replace(start, declaration.start, '$default = ');
        }
        break;
      }
      case 'ExportAllDeclaration': {
        const from = JSON.stringify(node.source.value);
        const name = `$all${this.#getters.length}`;
        if (node.exported) this.#getter(nameOf(node.exported), name);
        else this.#getters.push(`...Object.fromEntries(Object.keys(${name}).filter(key => key !== 'default').map(key => [key, () => ${name}[key]]))`);
        this.edits.replace(start, end, '');
        this.#head += `const ${name} = yield $import(${from}); `;
        break;
      }
    }
  }

  #exportNamed(node: ModuleDeclaration & { type: 'ExportNamedDeclaration' }): void {
    if (node.declaration) {
      for (const name of declared(node.declaration)) this.#getter(name, name);
      this.edits.replace(node.start, node.declaration.start, '');
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
      this.#head += `const [${locals.join(', ')}] = yield $import(${JSON.stringify(node.source.value)}, ${JSON.stringify(names)}); `;
    }
    this.edits.replace(node.start, node.end, '');
  }

  #getter(exported: string, local: string): void {
    this.#getters.push(`${JSON.stringify(exported)}: () => ${local}`);
  }

  head(): string {
    if (!this.#isModule) return '';
    const exports = this.#getters.length > 0 ? `$export({${this.#getters.join(', ')}}); ` : '';
    return `"use strict"; ${this.#head}${exports}`;
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

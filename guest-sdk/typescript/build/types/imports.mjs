// Finds the names that the author's modules import from modules which are no files of theirs.
import { nearest } from '../nearest.mjs';
import { placeOf } from './place.mjs';

/** Names of a module in a message. */
const SHOWN_MAX = 12;

/** Modules of which types.d.ts has every name. */
const OWN = /^(toolhost(\/.*)?|@goondan\/(types|core))$/;

/**
 * Returns `{wrong, imported}`: errors about names that the kit's own modules have not, and the other names with their
 * places, as `{module, name, …}`.
 */
export function importsOf(ts, program, files, folder) {
  const checker = program.getTypeChecker();
  const modules = new Map(checker.getAmbientModules().map((symbol) => [symbol.name.slice(1, -1), symbol]));
  const wrong = [];
  const imported = [];
  for (const { module, name, node, isType } of files.flatMap((file) => namedImports(ts, program.getSourceFile(file)))) {
    const own = OWN.test(module) && modules.get(module);
    if (!own) {
      if (!isType) imported.push({ module, name, ...placeOf(node, folder) });
      continue;
    }
    const names = checker.getExportsOfModule(own).map((symbol) => symbol.name);
    if (!names.includes(name)) wrong.push(absentName(module, name, names, placeOf(node, folder)));
  }
  return { wrong, imported };
}

function namedImports(ts, source) {
  const statements = source.statements.filter((each) => ts.isImportDeclaration(each) && each.importClause?.namedBindings);
  return statements.flatMap(({ moduleSpecifier, importClause }) => {
    if (!ts.isNamedImports(importClause.namedBindings)) return [];
    return importClause.namedBindings.elements.map((node) => ({
      module: moduleSpecifier.text,
      name: (node.propertyName ?? node.name).text,
      node,
      isType: importClause.isTypeOnly || node.isTypeOnly,
    }));
  });
}

/** A finding about a name that a module has not. */
export function absentName(module, name, names, place) {
  const meant = nearest(name, names);
  const shown = names.slice(0, SHOWN_MAX).map((each) => `\`${each}\``).join(', ');
  return {
    text: `\`${module}\` has no \`${name}\``,
    ...place,
    suggestion: meant ? `did you mean \`${meant}\`?` : `it has ${shown}${names.length > SHOWN_MAX ? ', …' : ''}`,
  };
}

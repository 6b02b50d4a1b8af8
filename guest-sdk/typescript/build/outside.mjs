// Keeps data that lies elsewhere on the machine out of components.
import { realpathSync } from 'node:fs';
import path from 'node:path';
import { BuildFailure } from './failure.mjs';

const CODE = /\.[cm]?[jt]sx?$/;

/**
 * Refuses what a module of the bundle imports by its path from outside the folder `root`, unless it is code: the file
 * could be anything that the user may read. `folder` is where the paths of the metafile begin.
 */
export function refuseOutsideData({ inputs }, folder, root) {
  const top = realpathSync(root);
  const isInside = (file) => !path.relative(top, path.resolve(folder, file)).startsWith('..');
  const errors = [];
  for (const [importer, { imports }] of Object.entries(inputs)) {
    if (!isInside(importer)) continue;
    for (const { path: file, original, external, with: attributes } of imports) {
      if (external || isInside(file) || isOfPackage(original) || (!attributes && isCode(file))) continue;
      errors.push({
        file: importer,
        text: `\`${original ?? file}\` is outside the folder of the bundle, and not code`,
        suggestion: 'copy the file into the folder of the bundle, and import it from there',
      });
    }
  }
  if (errors.length > 0) throw new BuildFailure('source', ...errors);
}

/** Whether a specifier is looked up in `node_modules`, and leads to nothing beside them. */
function isOfPackage(specifier) {
  if (specifier === undefined || path.isAbsolute(specifier)) return false;
  return !/^\.|[\\/]\.\.([\\/]|$)/.test(specifier);
}

function isCode(file) {
  const [name] = file.split(/[?#]/);
  return CODE.test(name);
}

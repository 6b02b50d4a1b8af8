// Says where a node of the compiler stands.
import path from 'node:path';

/** Returns the place in the form of failure.mjs; the file from `folder`. */
export function placeOf(node, folder) {
  const source = node.getSourceFile();
  const { line, character } = source.getLineAndCharacterOfPosition(node.getStart());
  const starts = source.getLineStarts();
  return {
    file: path.relative(folder, source.fileName),
    line: line + 1,
    column: character + 1,
    lineText: source.text.slice(starts[line], starts[line + 1]).trimEnd(),
  };
}

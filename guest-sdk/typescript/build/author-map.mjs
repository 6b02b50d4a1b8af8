// Makes the table with which a component finds the author's file and line of a place in its code.

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

const VALUES = new Map([...DIGITS].map((digit, value) => [digit, value]));

/** Under this symbol of the global object, runtime/stack.ts finds the table. */
const NAME = 'toolhost.sources';

/**
 * Returns a statement that keeps the table. Appended to the code, it moves nothing in it. `author` is before
 * the paths of the author's files in the map.
 */
export function authorMapStatement(map, author) {
  return `\nglobalThis[Symbol.for(${JSON.stringify(NAME)})]=${JSON.stringify(authorMap(map, author))};\n`;
}

/**
 * Returns `{sources, mappings}` in the format of source maps, with a mapping where another line of the
 * author begins. Code of packages and of the runtime has mappings without a source.
 */
export function authorMap({ sources, mappings }, author) {
  const files = sources.map((source) => {
    const [, file] = source.split(author);
    return file && !file.includes('node_modules/') ? file : undefined;
  });
  const kept = [...new Set(files.filter((file) => file !== undefined))];
  let [source, line, toSource, toLine] = [0, 0, 0, 0];
  const lines = mappings.split(';').map((segments) => {
    let [column, toColumn, before] = [0, 0, ''];
    const found = [];
    for (const segment of segments.split(',').filter(Boolean)) {
      const [columns, sourceBy, lineBy] = decode(segment);
      column += columns;
      if (sourceBy !== undefined) [source, line] = [source + sourceBy, line + lineBy];
      const file = sourceBy === undefined ? undefined : files[source];
      const place = file === undefined ? '' : `${file}:${line}`;
      if (place === before) continue;
      before = place;
      const fields = [column - toColumn];
      toColumn = column;
      if (file !== undefined) {
        const index = kept.indexOf(file);
        fields.push(index - toSource, line - toLine, 0);
        [toSource, toLine] = [index, line];
      }
      found.push(fields.map(encode).join(''));
    }
    return found.join(',');
  });
  return { sources: kept, mappings: lines.join(';') };
}

/** Decodes the numbers of a mapping: base-64 digits of five bits, the lowest first, and the sign last. */
function decode(segment) {
  const numbers = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = VALUES.get(digit);
    value += (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

function encode(number) {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1;
  let text = '';
  do {
    const bits = rest & 31;
    rest >>= 5;
    text += DIGITS[rest > 0 ? bits | 32 : bits];
  } while (rest > 0);
  return text;
}

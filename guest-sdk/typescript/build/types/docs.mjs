// Reads comments: descriptions, and tags with what JSON Schema says of a value.

const NUMBERS = [
  'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf',
  'minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties',
];
const TEXTS = ['pattern', 'format', 'title', 'contentEncoding', 'contentMediaType'];
const VALUES = ['default', 'const'];
const FLAGS = { deprecated: { deprecated: true }, uniqueItems: { uniqueItems: true }, integer: { type: 'integer' } };

/** Returns the keywords of JSON Schema that a comment on one of these declarations says. */
export function keywordsOf(ts, declarations) {
  const keywords = {};
  for (const each of declarations) {
    const declaration = commented(ts, each);
    for (const tag of ts.getJSDocTags(declaration)) Object.assign(keywords, keywordOf(tag.tagName.text, textOf(ts, tag), keywords));
    const description = descriptionOf(ts, declaration);
    if (description) keywords.description = description;
  }
  return keywords;
}

/** What a bound refuses of a value or its length. */
const BOUNDS = {
  minimum: (value, bound) => value < bound,
  maximum: (value, bound) => value > bound,
  exclusiveMinimum: (value, bound) => value <= bound,
  exclusiveMaximum: (value, bound) => value >= bound,
  minLength: ({ length }, bound) => length < bound,
  maxLength: ({ length }, bound) => length > bound,
  minItems: ({ length }, bound) => length < bound,
  maxItems: ({ length }, bound) => length > bound,
};

/** Says why a default does not fit its schema. Undefined if it does. */
export function misfit(schema, value) {
  const kind = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  const types = [schema.type ?? kind].flat();
  if (!types.some((type) => type === kind || (type === 'integer' && Number.isInteger(value)))) return `is no ${types.join(' or ')}`;
  if (schema.enum && !schema.enum.includes(value)) return `is none of ${schema.enum.map((each) => JSON.stringify(each)).join(', ')}`;
  const bound = Object.keys(BOUNDS).find((name) => schema[name] !== undefined && value !== null && BOUNDS[name](value, schema[name]));
  return bound && `is beyond \`${bound}\`, which is ${schema[bound]}`;
}

/** Returns the text of a comment before its tags. */
export function descriptionOf(ts, declaration) {
  if (ts.isJSDocPropertyLikeTag(declaration)) return textOf(ts, declaration).replace(/^-\s*/, '');
  const comments = ts.getJSDocCommentsAndTags(commented(ts, declaration)).filter((each) => ts.isJSDoc(each));
  const text = comments.map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? '').filter(Boolean).at(-1);
  return text?.trim().replace(/[ \t]*\r?\n[ \t]*/g, '\n').replace(/(\S)\n(?=\S)/g, '$1 ');
}

/**
 * Returns the declaration that has the comment. On one line, as in `{ /** … *\/ path: string }`, the compiler takes a
 * comment for the end of what is before it.
 */
function commented(ts, declaration) {
  const { text } = declaration.getSourceFile();
  const start = declaration.getStart();
  const range = ts.getTrailingCommentRanges(text, declaration.pos)?.at(-1);
  const isBefore = range && range.end <= start && !text.slice(range.end, start).includes('\n') && text.startsWith('/**', range.pos);
  if (!isBefore || ts.getJSDocCommentsAndTags(declaration).length > 0) return declaration;
  return ts.createSourceFile('comment.ts', `${text.slice(range.pos, range.end)}\nlet value;`, ts.ScriptTarget.ESNext, true).statements[0];
}

function textOf(ts, { comment }) {
  return (ts.getTextOfJSDocComment(comment) ?? '').trim();
}

function keywordOf(name, text, before) {
  if (NUMBERS.includes(name)) return Number.isFinite(Number(text)) && text !== '' ? { [name]: Number(text) } : {};
  if (TEXTS.includes(name)) return { [name]: text };
  if (VALUES.includes(name)) return { [name]: valueOf(text) };
  if (name === 'example' || name === 'examples') return { examples: [...(before.examples ?? []), valueOf(text)] };
  return Object.hasOwn(FLAGS, name) ? FLAGS[name] : {};
}

/** JSON, or the text itself. */
function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

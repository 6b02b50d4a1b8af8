// Files that were or would be changed, with their diffs.

import { button, code, fill, h, pairs, section, words } from './dom.js';
import { counted } from './format.js';

// Lines of a diff that are shown at first.
const LINES = 1_000;

const NO_DIFF =
  'No diff: only its mode or place changes, it is too large or no text, a carriage return ends a line of it, or the diffs of ' +
  'the call have 2 MiB without it. Its bytes have this digest.';

const CLASSES = { '+': 'added', '-': 'removed', '@': 'hunk' };

/** Makes a diff: each line is coloured, and begins with its sign. */
export function diff(text, path) {
  const lines = text.replace(/\n$/, '').split('\n');
  // The names of the files stand above the first hunk.
  const first = lines.findIndex((line) => line.startsWith('@@'));
  const made = (line, at) => h('span', { class: at < first ? 'hunk' : CLASSES[line[0]] }, words(line, Infinity), '\n');
  const pre = h(
    'pre',
    { class: 'diff', tabindex: 0, role: 'group', 'aria-label': `Changes of ${path}` },
    lines.slice(0, LINES).map(made),
  );
  if (lines.length <= LINES) return pre;
  const all = button(`Show all ${counted(lines.length, 'line')}`, () => {
    fill(pre, lines.map(made));
    pre.focus();
    all.remove();
  });
  return h('div', null, pre, all);
}

const kind = (it) =>
  [it.type, it.mode && `mode ${it.mode}`, it.target !== undefined && `to ${path(it.target)}`].filter(Boolean).join(', ');

/** Returns the text of a path; bytes that are no UTF-8 arrive as `{escaped}`. */
export const path = (value) => (typeof value === 'string' ? value : (value?.escaped ?? ''));

/** Makes a list of files, each with what is known of its change. */
export function files(list) {
  return h(
    'ul',
    { class: 'files' },
    list.map((file) => {
      const name = path(file.path);
      const facts = pairs([
        ['from', file.from && code(path(file.from))],
        ['is then', file.type && code(kind(file))],
        ['was', file.was && code(kind(file.was))],
        ['sha256', typeof file.digest === 'string' ? file.digest.replace(/^sha256:/, '') : undefined],
      ]);
      return h(
        'li',
        null,
        h('span', { class: `badge ${file.kind}` }, file.kind),
        ' ',
        code(name),
        facts.hasChildNodes() && facts,
        file.diff !== undefined && diff(path(file.diff), name),
        file.diff === undefined &&
          file.type === 'file' &&
          typeof file.digest === 'string' &&
          h('p', { class: 'faint' }, NO_DIFF),
      );
    }),
  );
}

/** Makes the section of changed files. */
export const filesSection = (title, list, note) => section(title, note && h('p', { class: 'note' }, note), files(list));

// Makes elements. All texts pass `words`, so that what a tool wrote is never markup and never hidden.

// Characters that nobody sees, or that move others: controls, bidi marks, zero-width characters, halves of
// surrogate pairs, blank letters, selectors, and each combining mark after the fourth.
const ODD = /(?![\n\t])[\p{Cc}\p{Cf}\p{DI}\p{Zl}\p{Zp}\p{Cs}\u2800]|(?<=\p{M}{4})\p{M}/gu;

// The same in texts that are one line.
const ODD_IN_LINE = new RegExp(`[\\n\\t]|${ODD.source}`, 'gu');

// Most characters of a text that is no block, in UTF-16 units.
const TEXT_MAX = 2_000;

const escaped = (character) => `\\u{${character.codePointAt(0).toString(16)}}`;

/** Returns a text of one line for attributes and titles: odd characters are escaped, at most `max` units. */
export function plain(text, max = 300) {
  return cut(String(text), max).replace(/\s+/g, ' ').replace(ODD, escaped);
}

function cut(text, max) {
  if (text.length <= max) return text;
  // A pair of surrogates stays whole.
  const end = /[\ud800-\udbff]/.test(text[max - 1]) ? max - 1 : max;
  return `${text.slice(0, end)}… (${(text.length - end).toLocaleString('en')} more characters)`;
}

/** Returns nodes with a text, in which odd characters are marked escapes. */
export function words(text, max = TEXT_MAX, odd = ODD) {
  const nodes = [];
  const shown = cut(String(text), max);
  let from = 0;
  for (const match of shown.matchAll(odd)) {
    if (match.index > from) nodes.push(document.createTextNode(shown.slice(from, match.index)));
    const mark = document.createElement('mark');
    mark.textContent = escaped(match[0]);
    nodes.push(mark);
    from = match.index + match[0].length;
  }
  if (from < shown.length || nodes.length === 0) nodes.push(document.createTextNode(shown.slice(from)));
  return nodes;
}

function maker(namespace) {
  return (name, attributes, ...children) => {
    const element = document.createElementNS(namespace, name);
    for (const [key, value] of Object.entries(attributes ?? {})) set(element, key, value);
    append(element, children);
    return element;
  };
}

function set(element, key, value) {
  if (value === undefined || value === null || value === false) return;
  if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
  else if (key === 'style') Object.assign(element.style, value);
  else if (key === 'value' || key === 'open') element[key] = value;
  // A link leads to a view of this page.
  else if (key === 'href' && !value.startsWith('#/')) throw new Error(`a link to ${value}`);
  else element.setAttribute(key, value === true ? '' : typeof value === 'string' ? plain(value, 4_000) : value);
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    if (child instanceof Node) element.append(child);
    else element.append(...words(child));
  }
}

/** Makes an element of HTML: `h('a', {href, onclick, style: {…}}, children…)`. A child is a node, a text or a list. */
export const h = maker('http://www.w3.org/1999/xhtml');

/** Makes an element of SVG. */
export const svg = maker('http://www.w3.org/2000/svg');

/** Makes a text of code that is one line, whole. */
export const code = (text) => h('code', null, words(text, Infinity, ODD_IN_LINE));

/** Replaces what an element has. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

const said = document.getElementById('said');

/** Has a screen reader say a text. */
export function say(text) {
  fill(said, text);
}

/** Makes a button. */
export function button(label, onclick, attributes) {
  return h('button', { type: 'button', onclick, ...attributes }, label);
}

/** Makes a table in a box that scrolls. A head is a text, or `{text, class}`. */
export function table(caption, heads, rows, attributes) {
  const head = (it) => h('th', { scope: 'col', class: it.class }, it.text ?? it);
  const body = h('tbody', null, rows);
  const made = h(
    'table',
    attributes,
    h('caption', { class: 'unseen' }, caption),
    h('thead', null, h('tr', null, heads.map(head))),
    body,
  );
  return { body, element: h('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': caption }, made) };
}

/** Makes a line of a table that leads to a view wherever it is clicked. */
export function opens(to, attributes, ...cells) {
  const open = ({ target }) => {
    if (!target.closest('a') && getSelection().isCollapsed) location.hash = to;
  };
  return h('tr', { class: 'opens', onclick: open, ...attributes }, cells);
}

/** Makes a list of names and values; pairs without a value are left out. */
export function pairs(list, attributes) {
  const has = ([, value]) => value !== undefined && value !== null && value !== false && value !== '';
  return h(
    'dl',
    attributes,
    list.filter(has).map(([name, value]) => [h('dt', null, name), h('dd', null, value)]),
  );
}

let sections = 0;

/** Makes a section with a heading of the second level. */
export function section(title, ...children) {
  const id = `section-${++sections}`;
  return h('section', { 'aria-labelledby': id }, h('h2', { id }, title), children);
}

// What of a block is shown at first, in UTF-16 units.
const BLOCK_FIRST = 20_000;

/** Makes a block of preformatted text, whose rest is shown on demand. */
export function block(text, label) {
  const pre = h('pre', { tabindex: 0, role: 'group', 'aria-label': label }, words(text, BLOCK_FIRST));
  if (text.length <= BLOCK_FIRST) return pre;
  const all = button(`Show all ${text.length.toLocaleString('en')} characters`, () => {
    fill(pre, words(text, Infinity));
    pre.focus();
    all.remove();
  });
  return h('div', null, pre, all);
}

/** Makes a button that copies a text; where the page may not, it shows the text selected. */
export function copy(label, text) {
  const made = button(label, async () => {
    const it = await text();
    if (it === undefined) return;
    try {
      await navigator.clipboard.writeText(it);
      say('Copied');
      fill(made, 'Copied');
      setTimeout(() => fill(made, label), 1_500);
    } catch {
      const area = h('textarea', { readonly: true, 'aria-label': label, rows: 4, value: it });
      made.after(area);
      area.select();
      area.addEventListener('blur', () => area.remove(), { once: true });
    }
  });
  return made;
}

/** Makes a note about an error of the API, which is said aloud. */
export function failure(error) {
  const hint = error.hint && [h('br'), error.hint];
  return h('p', { class: 'failure', role: 'alert' }, error.message, hint);
}

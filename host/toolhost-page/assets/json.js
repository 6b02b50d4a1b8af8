// JSON as texts and trees. Integers that JavaScript would round keep their digits.

import { block, button, copy, fill, h, plain, words } from './dom.js';
import { count } from './format.js';

const keepsDigits = (_key, value, context) => {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value;
  if (JSON.rawJSON && /^-?\d+$/.test(context?.source)) return JSON.rawJSON(context.source);
  return context?.source ? value : `about ${value}: this browser rounds it`;
};

/** Parses JSON. Throws like `JSON.parse`. */
export const parse = (text) => JSON.parse(text, keepsDigits);

const isRaw = (value) => JSON.isRawJSON?.(value) ?? false;

// Entries of an object or list that are shown at once.
const ENTRIES = 100;
// Units of a text in a tree that are shown at once.
const TEXT = 400;
// Values that a tree may have to be opened at first.
const OPEN = 60;

/** Makes the tree of a JSON text; one that is cut or no JSON is shown as text. */
export function treeOfText(text, label) {
  let value;
  try {
    value = parse(text);
  } catch {
    const isCut = text.endsWith('… (cut)');
    const note = isCut
      ? 'It is longer than what is kept: the rest was cut.'
      : 'It is no JSON, or nested too deeply for a tree.';
    return h('div', null, h('p', { class: 'note' }, note), block(text, label));
  }
  return tree(value, label);
}

/** Makes the tree of a JSON value, with a button that shows its text, or shows the text first. */
export function tree(value, label, { isText: isTextFirst = false } = {}) {
  const place = h('div', { class: 'tree' });
  const text = () => JSON.stringify(value, null, 2);
  const toggle = button('As text', () => draw(!isText), { 'aria-label': `${label} as text` });
  let isText;
  const draw = (asText) => {
    isText = asText;
    fill(place, isText ? block(text(), label) : node(undefined, value, size(value, OPEN) < OPEN));
    toggle.setAttribute('aria-pressed', isText);
  };
  draw(isTextFirst);
  return h('div', { class: 'json' }, place, h('div', { class: 'row' }, toggle, copy('Copy', text)));
}

/** Counts the values within a value, as far as `max`. */
function size(value, max) {
  if (value === null || typeof value !== 'object' || isRaw(value)) return 1;
  let sum = 1;
  for (const within of Object.values(value)) {
    sum += size(within, max - sum);
    if (sum >= max) return max;
  }
  return sum;
}

function node(key, value, isOpen) {
  const name = key === undefined ? null : [h('span', { class: 'key' }, words(key, 200)), ': '];
  if (value === null || typeof value !== 'object' || isRaw(value)) return h('div', null, name, leaf(value));
  const isList = Array.isArray(value);
  // A list has its indexes as keys.
  const keys = Object.keys(value);
  if (keys.length === 0) return h('div', null, name, isList ? '[]' : '{}');
  const inner = h('div', { class: 'inner' });
  const title = isList
    ? `[${count(keys.length)}]`
    : `{${keys
        .slice(0, 3)
        .map((it) => plain(it, 24))
        .join(', ')}${keys.length > 3 ? ', …' : ''}}`;
  const show = () => {
    if (!inner.hasChildNodes()) more(inner, value, keys, 0, isOpen);
  };
  // The top is always shown.
  const isShown = isOpen || key === undefined;
  if (isShown) show();
  return h('details', { open: isShown, ontoggle: show }, h('summary', null, name, title), inner);
}

function more(inner, value, keys, from, isOpen) {
  const to = Math.min(from + ENTRIES, keys.length);
  inner.append(...keys.slice(from, to).map((key) => node(key, value[key], isOpen)));
  if (to === keys.length) return;
  const rest = button(`Show more of ${count(keys.length)}`, () => {
    const last = inner.childElementCount - 1;
    more(inner, value, keys, to, false);
    rest.remove();
    (inner.children[last]?.querySelector('summary') ?? inner.lastElementChild).focus?.();
  });
  inner.append(rest);
}

function leaf(value) {
  if (typeof value !== 'string')
    return h('span', { class: 'value' }, value === null ? 'null' : String(value.rawJSON ?? value));
  const text = JSON.stringify(value.slice(0, TEXT));
  const shown = h(
    'span',
    { class: 'text' },
    words(value.length > TEXT || value.includes('\n') ? `"${value.slice(0, TEXT)}"` : text),
  );
  if (value.length <= TEXT) return shown;
  const all = button(`… ${count(value.length)} characters`, () => fill(shown, block(value, 'Text')) ?? all.remove());
  return [shown, all];
}

// A form made from a JSON Schema. Each field is `{element, value()}`; `value` throws what cannot be sent, and returns
// nothing for what was left empty.

import { button, fill, h, plain } from './dom.js';
import { parse } from './json.js';

// Levels of objects and lists that get fields of their own; what lies deeper is written as JSON.
const LEVELS = 4;

let ids = 0;

const typeOf = ({ type, properties }) =>
  Array.isArray(type) ? type.find((it) => it !== 'null') : (type ?? (properties && 'object'));

/** Makes the field of a schema. */
export function field(schema, value, { level = 0, label } = {}) {
  const it = typeof schema === 'object' && schema !== null ? schema : {};
  if (Array.isArray(it.enum)) return choice(it, value, label);
  const type = typeOf(it);
  if (type === 'object' && it.properties && level < LEVELS) return object(it, value, level, label);
  if (type === 'array' && it.items && level < LEVELS) return list(it, value, level, label);
  if (type === 'string') return text(it, value, label);
  if (type === 'integer' || type === 'number') return numeric(type, it, value, label);
  if (type === 'boolean') return choice({ ...it, enum: [true, false] }, value, label);
  return raw(value === undefined ? (level === 0 ? '{}' : '') : JSON.stringify(value, null, 2), label, it);
}

function labelled(input, label, schema, isRequired) {
  if (label === undefined) return input;
  const id = `field-${++ids}`;
  const hint = schema?.description && h('span', { class: 'faint words', id: `${id}-hint` }, schema.description);
  input.id = id;
  if (hint) input.setAttribute('aria-describedby', `${id}-hint`);
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label, isRequired && h('span', { class: 'faint' }, ' required')),
    input,
    hint,
  );
}

/** Makes a field for JSON. */
export function raw(json, label = { text: 'Arguments as JSON' }, schema) {
  const area = h('textarea', {
    rows: 6,
    spellcheck: 'false',
    placeholder: 'JSON',
    value: json,
    'aria-label': label.text,
  });
  const value = () => {
    const given = area.value.trim();
    if (given === '') return undefined;
    try {
      return parse(given);
    } catch (error) {
      throw new Error(`${label.text}: ${error.message}`);
    }
  };
  return { element: labelled(area, label.text, schema, label.required), value };
}

function text(schema, value, label) {
  const isLong = !schema.format && !schema.pattern && !(schema.maxLength <= 100);
  const shown = typeof value === 'string' ? value : (schema.default ?? '');
  const input = isLong
    ? h('textarea', { rows: 1, value: shown, spellcheck: 'false' })
    : h('input', { value: shown, spellcheck: 'false' });
  let isTouched = shown !== '';
  input.addEventListener('input', () => {
    isTouched = true;
  });
  // A required text that was left empty is an empty text.
  const given = () => (input.value === '' && !isTouched && !label?.required ? undefined : input.value);
  return { element: labelled(input, label?.text, schema, label?.required), value: given };
}

function numeric(type, schema, value, label) {
  const input = h('input', {
    inputmode: type === 'integer' ? 'numeric' : 'decimal',
    value: String(value?.rawJSON ?? value ?? schema.default ?? ''),
    spellcheck: 'false',
  });
  const given = () => {
    const typed = input.value.trim();
    if (typed === '') return undefined;
    try {
      return parse(typed);
    } catch {
      throw new Error(`${label?.text ?? 'Value'}: ${plain(typed, 40)} is no number`);
    }
  };
  return { element: labelled(input, label?.text, schema, label?.required), value: given };
}

function choice(schema, value, label) {
  const options = schema.enum.map((it, at) =>
    h('option', { value: String(at) }, typeof it === 'string' ? it : JSON.stringify(it)),
  );
  const select = h('select', null, h('option', { value: '' }, '—'), options);
  const at = schema.enum.indexOf(value ?? schema.default);
  select.value = at < 0 ? '' : String(at);
  const given = () => (select.value === '' ? undefined : schema.enum[Number(select.value)]);
  return { element: labelled(select, label?.text, schema, label?.required), value: given };
}

function group(label, schema, children) {
  if (label === undefined) return h('div', null, children);
  const hint = schema.description && h('p', { class: 'faint words' }, schema.description);
  return h('fieldset', null, h('legend', null, label.text), hint, children);
}

function object(schema, value, level, label) {
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties).map(([key, within]) => {
    const given = Object.hasOwn(value ?? {}, key) ? value[key] : undefined;
    return [key, field(within, given, { level: level + 1, label: { text: key, required: required.has(key) } })];
  });
  const given = () => {
    const pairs = fields.map(([key, it]) => [key, it.value()]).filter(([, it]) => it !== undefined);
    // An optional object of which nothing was given is left out.
    return pairs.length === 0 && label !== undefined && !label.required ? undefined : Object.fromEntries(pairs);
  };
  return {
    element: group(
      label,
      schema,
      fields.map(([, it]) => it.element),
    ),
    value: given,
  };
}

function list(schema, value, level, label) {
  const items = [];
  const place = h('div', null);
  const draw = () =>
    fill(
      place,
      items.map((it) =>
        h(
          'div',
          { class: 'row item' },
          it.element,
          button(
            'Remove',
            () => {
              items.splice(items.indexOf(it), 1);
              draw();
              add.focus();
            },
            { 'aria-label': `Remove item of ${label?.text ?? 'the list'}` },
          ),
        ),
      ),
    );
  const push = (given) =>
    items.push(field(schema.items, given, { level: level + 1, label: { text: 'Item', required: true } }));
  const add = button(
    'Add',
    () => {
      push();
      draw();
      place.lastElementChild.querySelector('input, textarea, select, button')?.focus();
    },
    { 'aria-label': `Add to ${label?.text ?? 'the list'}` },
  );
  if (Array.isArray(value)) value.forEach(push);
  draw();
  const given = () => (items.length === 0 && !label?.required ? undefined : items.map((it) => it.value() ?? null));
  return { element: group(label, schema, [place, add]), value: given };
}

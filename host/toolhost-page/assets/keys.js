// Keys of the page. A view marks what keys reach: `data-key="s"` is clicked by that key, and `j` and `k` move between
// the links with `data-line`.

import { button, h } from './dom.js';
import { go, listed, route } from './route.js';

const KEY = 'toolhost.keys';

const HELP = [
  ['1 … 5', 'the views, from calls to budgets'],
  ['j, k', 'next and previous line of a list'],
  ['Enter', 'open it'],
  ['f', 'failed calls'],
  ['/', 'search calls'],
  ['l', 'live or paused'],
  ['s', 'steps of a call'],
  ['r', 'replay a call'],
  ['u', 'up to the list'],
  ['?', 'these keys'],
];

const isOn = () => localStorage.getItem(KEY) !== 'off';

/** Shows the keys, and a switch that turns all but Enter off. */
export function help() {
  const dialog = h('dialog', { 'aria-labelledby': 'keys', onclose: () => dialog.remove() });
  const turn = ({ target }) => localStorage.setItem(KEY, target.checked ? 'on' : 'off');
  const on = h('input', { type: 'checkbox', onchange: turn, checked: isOn() });
  const rows = HELP.map(([key, does]) => [h('dt', null, h('kbd', null, key)), h('dd', null, does)]);
  dialog.append(
    h('h2', { id: 'keys' }, 'Keys'),
    h('dl', null, rows),
    h('p', null, h('label', null, on, ' Use keys')),
    button('Close', () => dialog.close()),
  );
  document.body.append(dialog);
  dialog.showModal();
}

function move(by) {
  const lines = [...document.querySelectorAll('[data-line]')].filter((line) => line.checkVisibility());
  const at = lines.indexOf(document.activeElement);
  const next = lines[at < 0 ? (by > 0 ? 0 : lines.length - 1) : Math.min(Math.max(at + by, 0), lines.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

/** Follows the keys; the digits lead to these views. */
export function follow(views) {
  addEventListener('keydown', (event) => {
    const isTyped = event.target.closest?.('input, textarea, select, dialog, [role=listbox]');
    if (event.defaultPrevented || isTyped || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key !== '?' && !isOn()) return;
    const { path, root } = route();
    const view = views[Number(event.key) - 1];
    const marked = /^[a-z/]$/.test(event.key) && document.querySelector(`[data-key="${event.key}"]`);
    if (event.key === '?') help();
    else if (event.key === 'j') move(1);
    else if (event.key === 'k') move(-1);
    else if (view) go([view], { root });
    else if (event.key === 'u' && path[3] !== undefined) go(path.slice(0, 3));
    else if (event.key === 'u' && path[0] === 'calls' && path.length > 1) location.hash = listed(root);
    else if (event.key === 'u' && path.length > 1) go([path[0]], { root });
    else if (marked instanceof HTMLInputElement) marked.focus();
    else if (marked) marked.click();
    else return;
    event.preventDefault();
  });
}

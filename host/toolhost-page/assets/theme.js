// Light, dark, or as the system has it: kept in this browser.

import { h } from './dom.js';

const KEY = 'toolhost.theme';
const THEMES = ['system', 'light', 'dark'];

function apply(theme) {
  const isSet = theme === 'light' || theme === 'dark';
  if (isSet) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

apply(localStorage.getItem(KEY));

/** Makes the switch. */
export function themes() {
  const change = ({ target }) => {
    localStorage.setItem(KEY, target.value);
    apply(target.value);
  };
  const select = h(
    'select',
    { id: 'theme', 'aria-label': 'Colours', onchange: change },
    THEMES.map((it) => h('option', null, it)),
  );
  select.value = THEMES.includes(localStorage.getItem(KEY)) ? localStorage.getItem(KEY) : 'system';
  return select;
}

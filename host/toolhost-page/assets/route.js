// The view, its subject and its filters stand in the fragment of the address, so that a link keeps them.

import { part } from './api.js';

/** Returns `#/calls/0/4711?at=3` of `['calls', 0, 4711]` and `{at: 3}`; empty values and the first root are left out. */
export function link(path, query) {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    const isDefault = key === 'root' && value === '0';
    if (value !== undefined && value !== null && value !== '' && value !== false && !isDefault) {
      parameters.set(key, value === true ? '' : String(value).toWellFormed());
    }
  }
  // `?failed` reads better than `?failed=`.
  const text = parameters.toString().replace(/=(?=&|$)/g, '');
  return `#/${path.map(part).join('/')}${text && `?${text}`}`;
}

/** Returns `{path, query, root}` of the address. */
export function route() {
  const text = location.hash.replace(/^#\/?/, '');
  const [path, query = ''] = [text.split('?')[0], text.slice(text.indexOf('?') + 1 || text.length)];
  const parameters = Object.fromEntries(new URLSearchParams(query));
  const { root = '0', ...rest } = parameters;
  const parts = path.split('/').filter(Boolean).map(decoded);
  // A call has its state root in the path.
  return { path: parts, query: rest, root: parts[0] === 'calls' ? (parts[1] ?? root) : root };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Changes the address without a new view. */
export const replace = (path, query) => history.replaceState(null, '', link(path, query));

/** Shows another view. */
export const go = (path, query) => {
  location.hash = link(path, query);
};

let lastList;

/** Remembers the list of calls that is shown, with its filters. */
export const remember = (root) => {
  lastList = { root, to: location.hash };
};

/** Returns the list of calls that was shown last. */
export const listed = (root) => (lastList?.root === root ? lastList.to : link(['calls'], { root }));

// Starts the page: the token, the navigation, the views, the keys.

import { every, get, token } from './api.js';
import { show as showAgents } from './agents.js';
import { show as showApproval } from './approval.js';
import { show as showApprovals } from './approvals.js';
import { show as showBudgets } from './budgets.js';
import { show as showCall } from './call.js';
import { show as showCalls } from './calls.js';
import { show as showCharts } from './charts.js';
import { button, failure, fill, h, plain, say } from './dom.js';
import { follow as followKeys, help } from './keys.js';
import { setNow } from './format.js';
import { link, replace, route } from './route.js';
import { show as showSteps } from './steps.js';
import { themes } from './theme.js';

const main = document.getElementById('main');
const nav = document.getElementById('views');
const settings = document.getElementById('settings');
const trouble = document.getElementById('trouble');

const VIEWS = [
  { name: 'calls', title: 'Calls' },
  { name: 'approvals', title: 'Approvals' },
  { name: 'charts', title: 'Charts' },
  { name: 'agents', title: 'Agents' },
  { name: 'budgets', title: 'Budgets' },
];

/** Returns the function that shows a path. */
function viewOf([name, first, second, third]) {
  if (name === 'calls') {
    if (third === 'steps') return showSteps;
    return second === undefined ? showCalls : showCall;
  }
  if (name === 'approvals') return first === undefined ? showApprovals : showApproval;
  return { charts: showCharts, agents: showAgents, budgets: showBudgets }[name];
}

let info;
let waiting = 0;
let leaving = new AbortController();
let heading = 'toolhost';
// Where each view was scrolled to, and whether the user goes back to one.
const scrolled = new Map();
let isTraversal = false;
let shown;

function name() {
  document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${plain(heading, 80)} · toolhost`;
}

/** Shows the view of the address. */
async function show() {
  leaving.abort();
  leaving = new AbortController();
  if (shown !== undefined) scrolled.set(shown, scrollY);
  const { signal } = leaving;
  const isBack = isTraversal;
  takeToken();
  if (!token.get()) return askForToken();
  try {
    if (info === undefined) await start();
  } catch (error) {
    if (error.status !== 401) fill(main, failure(error), button('Try again', show));
    return;
  }
  const at = route();
  const view = viewOf(at.path);
  if (view === undefined) return replace(['calls'], { root: at.root }) ?? show();
  drawNavigation(at);
  const place = h('div', { class: 'view' });
  main.setAttribute('aria-busy', 'true');
  try {
    const title = await view(place, { ...at, info, signal });
    if (signal.aborted) return;
    heading = title;
  } catch (error) {
    if (signal.aborted || error.status === 401) return;
    if (error.status === undefined) throw error;
    heading = 'Error';
    fill(place, h('h1', null, heading), failure(error));
  }
  main.replaceChildren(place);
  main.removeAttribute('aria-busy');
  name();
  say(heading);
  // What led here is gone: keys go on in the view.
  if (document.activeElement === document.body) main.focus({ preventScroll: true });
  shown = location.hash;
  scrollTo(0, isBack ? (scrolled.get(shown) ?? 0) : 0);
}

/** Moves the token of the address into the session, where no other page and no history has it. */
function takeToken() {
  const given = /^#token=([^&]*)&?(.*)$/.exec(location.hash);
  if (!given) return;
  token.set(given[1]);
  info = undefined;
  history.replaceState(null, '', given[2].startsWith('/') ? `#${given[2]}` : link(['calls']));
}

function askForToken() {
  // What the last view still asks for would be refused, and ask again.
  leaving.abort();
  info = undefined;
  fill(nav);
  const input = h('input', { id: 'token', type: 'password', autocomplete: 'off', required: true, spellcheck: 'false' });
  const enter = (event) => {
    event.preventDefault();
    token.set(input.value.trim());
    show();
  };
  heading = 'Token';
  name();
  const label = h('label', { for: 'token' }, 'Token');
  const hint = h(
    'p',
    null,
    h('code', null, 'toolhost watch'),
    ' prints it, as a part of the address of this page. With ',
    h('code', null, '--approvers FILE'),
    ', it is the one beside your name in the file.',
  );
  main.removeAttribute('aria-busy');
  fill(
    main,
    h('h1', null, 'A token is needed'),
    hint,
    h('form', { class: 'row', onsubmit: enter }, label, input, h('button', null, 'Open')),
  );
  input.focus();
}

/** Loads what all views need, once for a token. */
async function start() {
  info = await get('info');
  setNow(info.now);
  const roots = info.roots.map(({ id, path, error }) =>
    h('option', { value: String(id) }, path, error && ': cannot be read'),
  );
  const choose = ({ target }) => {
    location.hash = link([route().path[0]], { root: target.value });
  };
  const root = h('select', { id: 'root', 'aria-label': 'State root', onchange: choose }, roots);
  fill(
    settings,
    info.roots.length > 1 ? root : h('span', { class: 'faint' }, info.roots[0]?.path ?? ''),
    h('span', { class: 'faint' }, info.viewer),
    themes(),
    button('Keys', help, { title: 'Keys (?)' }),
  );
}

function drawNavigation(at) {
  const { root } = at;
  const choice = document.getElementById('root');
  if (choice) choice.value = root;
  const made = VIEWS.map((view) => {
    const isHere = view.name === at.path[0];
    const badge = h('span', { class: 'badge', id: `count-${view.name}` });
    return h('a', { href: link([view.name], { root }), 'aria-current': isHere && 'page' }, view.title, badge);
  });
  fill(nav, made);
  drawCount();
}

function drawCount() {
  const badge = document.getElementById('count-approvals');
  if (badge) fill(badge, waiting > 0 && [h('span', { class: 'unseen' }, ', waiting: '), String(waiting)]);
  name();
}

/** Counts the calls that wait for approval, in all state roots. Says so if nobody answers. */
async function countWaiting() {
  if (!token.get() || info === undefined) return;
  let roots;
  try {
    ({ roots } = await get('info'));
    fill(trouble);
  } catch (error) {
    if (error.status !== 401)
      fill(trouble, h('p', { class: 'failure' }, `${error.message}: what is shown may be old.`));
    return;
  }
  const before = waiting;
  waiting = roots.reduce((sum, root) => sum + (root.waiting ?? 0), 0);
  if (waiting === before) return;
  drawCount();
  if (waiting > before) say(`${waiting} waiting for approval`);
}

globalThis.navigation?.addEventListener('navigate', ({ navigationType }) => {
  isTraversal = navigationType === 'traverse';
});
addEventListener('hashchange', show);
addEventListener('token-needed', askForToken);
document.getElementById('skip').addEventListener('click', () => main.focus());
followKeys(VIEWS.map(({ name: view }) => view));
await show();
every(3_000, new AbortController().signal, countWaiting);

// A recorded call, host call by host call, and its replay.

import { get, part, post } from './api.js';
import { block, button, failure, fill, h, pairs, say, section } from './dom.js';
import { count, counted } from './format.js';
import { link, replace } from './route.js';

// Steps of a page.
const PAGE = 200;

/** Shows the steps: `#/calls/ROOT/ID/steps?function=TEXT&from=N&at=N`. */
export async function show(place, { path, query, info, signal }) {
  const [, root, id] = path;
  const from = Number(query.from) || 0;
  const filter = { function: query.function };
  const { total, steps } = await get(`calls/${part(id)}/steps`, { root, from, limit: PAGE, ...filter }, signal);
  const go = (more) => link(path, { ...filter, ...more });
  const search = h('input', {
    type: 'search',
    name: 'function',
    value: query.function ?? '',
    'data-key': '/',
    spellcheck: 'false',
  });
  const find = (event) => {
    event.preventDefault();
    location.hash = link(path, { function: search.value.trim() });
  };
  const shown = h('div', { class: 'step', 'aria-live': 'off' });
  const chosen = steps.findIndex((step) => step.index === Number(query.at));
  const list = listbox(steps, Math.max(chosen, 0), (step) => {
    replace(path, { ...filter, from: from || undefined, at: step.index });
    draw(shown, step);
  });
  const last = Math.min(from + PAGE, total);
  const pages = h(
    'p',
    { class: 'row' },
    h(
      'span',
      { class: 'faint' },
      total === 0 ? 'No step fits.' : `${count(from + 1)} – ${count(last)} of ${counted(total, 'step')}`,
    ),
    from > 0 && h('a', { class: 'chip', href: go({ from: Math.max(0, from - PAGE) || undefined }) }, 'Earlier'),
    last < total && h('a', { class: 'chip', href: go({ from: last }) }, 'Later'),
  );
  fill(
    place,
    h('p', null, h('a', { href: link(['calls', root, id]) }, '← The call')),
    h('h1', null, `Steps of call ${id}`),
    replay(id, root, info, (index) => link(path, { from: Math.floor(index / PAGE) * PAGE || undefined, at: index })),
    h('form', { class: 'row', onsubmit: find }, h('label', null, 'Function ', search), h('button', null, 'Filter')),
    pages,
    h('div', { class: 'steps' }, list, shown),
  );
  // Arrow keys move at once.
  setTimeout(() => signal.aborted || list.focus({ preventScroll: true }));
  return `Steps of call ${id}`;
}

function draw(place, step) {
  fill(
    place,
    h('h2', null, `Step ${count(step.index)}`),
    pairs([['Function', h('code', null, step.function)]]),
    h('h3', null, 'Arguments'),
    block(step.arguments, 'Arguments of the step'),
    h('h3', null, step.ended ? 'It did not return' : 'Answer'),
    block(step.answer, 'Answer of the step'),
  );
}

/** Makes a list in which arrow keys, `j` and `k` choose. */
function listbox(steps, first, choose) {
  const option = (step) =>
    h(
      'li',
      { role: 'option', id: `step-${step.index}`, 'aria-selected': 'false' },
      h('span', { class: 'number' }, count(step.index)),
      ' ',
      h('code', null, step.function),
    );
  const options = steps.map(option);
  const list = h('ul', { role: 'listbox', tabindex: 0, 'aria-label': 'Steps' }, options);
  let at = -1;
  const select = (index) => {
    const next = Math.min(Math.max(index, 0), steps.length - 1);
    if (next === at || steps.length === 0) return;
    options[at]?.setAttribute('aria-selected', 'false');
    at = next;
    options[at].setAttribute('aria-selected', 'true');
    list.setAttribute('aria-activedescendant', options[at].id);
    options[at].scrollIntoView?.({ block: 'nearest' });
    choose(steps[at]);
  };
  const moves = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 20, PageUp: -20, Home: -Infinity, End: Infinity };
  list.addEventListener('keydown', (event) => {
    const by = moves[event.key];
    if (by === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    select(at + by);
  });
  list.addEventListener('click', (event) => {
    const clicked = options.indexOf(event.target.closest('[role=option]'));
    if (clicked >= 0) select(clicked);
  });
  select(first);
  return list;
}

const ENDS = {
  finished: 'It ran to its end.',
  diverged: 'It made another host call than recorded.',
  recordingCut: 'The recording ends there: it had reached its limit of bytes.',
  stopped: 'It was stopped.',
};

function replay(id, root, info, linkOf) {
  const place = h('div', null);
  if (!info.canReplay) {
    return h(
      'p',
      { class: 'note' },
      'To replay the call, start the page with its bundle: ',
      h('code', null, 'toolhost watch --bundle DIR'),
      '.',
    );
  }
  const run = async () => {
    start.disabled = true;
    fill(place, h('p', { class: 'faint' }, 'It runs.'));
    try {
      const report = await post(`calls/${part(id)}/replay`, { root });
      fill(place, drawReport(report, linkOf));
      say(report.same ? 'The replay did the same' : 'The replay differs');
    } catch (error) {
      fill(place, failure(error));
    }
    start.disabled = false;
  };
  const start = button('Replay with the loaded bundle', run, { 'data-key': 'r' });
  return h('div', null, start, place);
}

function drawReport({ same, end, component, hostCalls, outcome, divergence }, linkOf) {
  const digest = ({ recorded, current, changed }) =>
    changed ? `changed: ${recorded} was recorded, ${current} was replayed` : 'the recorded one';
  const differs = divergence && [
    pairs([['At', h('a', { href: linkOf(divergence.index) }, `step ${count(divergence.index)}`)]]),
    h('h3', null, 'Recorded'),
    block(divergence.expected ?? 'nothing', 'Recorded'),
    h('h3', null, 'Replayed'),
    block(divergence.actual ?? 'nothing', 'Replayed'),
  ];
  return section(
    same ? 'The replay did the same' : 'The replay differs',
    pairs([
      ['End', ENDS[end] ?? end],
      ['Component', component && digest(component)],
      ['Host calls', count(hostCalls)],
      ['Outcome', outcome],
    ]),
    differs,
  );
}

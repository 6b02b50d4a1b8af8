// The list of calls: live while its first page is shown, with what runs above it.

import { every, get } from './api.js';
import { button, fill, h, opens, say, section, table } from './dom.js';
import { bytes, count, counted, duration, msTo, when } from './format.js';
import { go, link, remember } from './route.js';

// Calls of a page, and lines that a live list keeps.
const PAGE = 100;
const LINES_MAX = 300;

const FILTERS = ['status', 'tool', 'code', 'agent', 'instance', 'text'];
const LAST = { '1h': ['last hour', 3_600_000], '1d': ['last day', 86_400_000], '7d': ['last week', 604_800_000] };

const HEADS = [
  'Time',
  'Tool',
  { text: 'Agent', class: 'more' },
  { text: 'Instance', class: 'more' },
  'Status',
  { text: 'Took', class: 'number' },
  { text: 'Memory', class: 'number more' },
  { text: 'Bytes', class: 'number more' },
];

// Kept while the page is open: who pauses a list wants it paused when they come back.
let isPaused = false;

/** Returns the filters of the API. `failed` is short for `status=error`. */
export function filters({ failed, last, since, until, ...query }) {
  const chosen = Object.fromEntries(FILTERS.map((name) => [name, query[name]]));
  if (failed !== undefined) chosen.status = 'error';
  const span = LAST[last]?.[1];
  chosen.since = span ? new Date(Date.now() - span).toISOString() : stamp(since);
  chosen.until = span ? undefined : stamp(until);
  return chosen;
}

/** Returns RFC 3339 of the local time of an input, or nothing. */
function stamp(local) {
  const at = new Date(local ?? '');
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** Makes the badge of how a call ended. */
export function badge(call) {
  return h('span', { class: `badge ${call.status}` }, call.code ?? call.status);
}

/** Makes the line of a call. */
export function line(call, root) {
  const to = link(['calls', root, call.id]);
  const { usage = {} } = call;
  const marks = [
    call.kind !== 'call' && h('span', { class: 'badge' }, call.kind),
    call.denials?.length > 0 && h('span', { class: 'badge denied' }, `denied ${call.denials.length}`),
    call.recording && h('span', { class: 'badge', title: 'it may have a recording' }, 'rec'),
  ];
  const files = (usage.bytesRead ?? 0) + (usage.bytesWritten ?? 0);
  return opens(
    to,
    null,
    h('td', { class: 'time' }, when(call.time)),
    h(
      'td',
      null,
      call.parentCallId && h('span', { title: 'made by another call' }, '↳ '),
      h('a', { href: to, 'data-line': true }, call.tool || '(no name)'),
      ' ',
      marks,
    ),
    h('td', { class: 'more' }, call.agent),
    h('td', { class: 'more' }, call.instance),
    h('td', null, badge(call)),
    h('td', { class: 'number' }, duration(call.durationMs)),
    h('td', { class: 'number more' }, bytes(usage.memoryPeak || undefined)),
    h('td', { class: 'number more' }, bytes(files || undefined)),
  );
}

function choices(query, root) {
  const { failed, status, before, ...rest } = query;
  const chosen = failed !== undefined ? 'error' : (status ?? '');
  const all = [
    ['', 'All'],
    ['ok', 'Ok'],
    ['error', 'Failed'],
    ['pending', 'Pending'],
  ];
  const chip = ([value, label]) => {
    const to = link(['calls'], { ...rest, ...(value === 'error' ? { failed: true } : { status: value }), root });
    return h(
      'a',
      { class: 'chip', href: to, 'aria-current': value === chosen && 'true', 'data-key': value === 'error' && 'f' },
      label,
    );
  };
  return h('div', { class: 'row', role: 'group', 'aria-label': 'Status' }, all.map(chip));
}

/** Makes the choice of a time; `change` gets `{last, since, until}`. */
export function times(query, change) {
  const options = [
    ['', 'any time'],
    ...Object.entries(LAST).map(([key, [label]]) => [key, label]),
    ['range', 'from – to'],
  ];
  const select = h(
    'select',
    { 'aria-label': 'Time' },
    options.map(([value, label]) => h('option', { value }, label)),
  );
  const since = h('input', { type: 'datetime-local', 'aria-label': 'From', value: query.since ?? '' });
  const until = h('input', { type: 'datetime-local', 'aria-label': 'To', value: query.until ?? '' });
  const isRange = query.since || query.until;
  select.value = isRange ? 'range' : (query.last ?? '');
  const range = h('span', { class: 'row', hidden: !isRange }, since, until);
  select.addEventListener('change', () => {
    range.hidden = select.value !== 'range';
    if (range.hidden) change({ last: select.value });
    else since.focus();
  });
  for (const input of [since, until])
    input.addEventListener('change', () => change({ since: since.value, until: until.value }));
  return h('span', { class: 'row' }, select, range);
}

function form(query, root) {
  const { before, last, since, until, ...rest } = query;
  const inputs = ['text', 'tool', 'code', 'agent', 'instance'].map((name) => {
    const isText = name === 'text';
    const input = h('input', {
      name,
      type: isText ? 'search' : 'text',
      value: query[name] ?? '',
      'data-key': isText && '/',
      spellcheck: 'false',
    });
    return h('label', null, isText ? 'Search' : name[0].toUpperCase() + name.slice(1), ' ', input);
  });
  let span = { last, since, until };
  const apply = (event) => {
    event?.preventDefault();
    const values = Object.fromEntries(
      inputs.map((label) => [label.lastElementChild.name, label.lastElementChild.value.trim()]),
    );
    go(['calls'], { ...rest, ...values, ...span, root });
  };
  const time = times(query, (chosen) => {
    span = chosen;
    apply();
  });
  return [
    h('div', { class: 'row' }, choices(query, root), time),
    h('form', { class: 'row filters', onsubmit: apply }, inputs, h('button', null, 'Search')),
  ];
}

/** Shows the list. */
export async function show(place, { query, root, info, signal }) {
  remember(root);
  const chosen = filters(query);
  const isFirstPage = query.before === undefined;
  const page = await get('calls', { root, ...chosen, before: query.before, limit: PAGE }, signal);
  const list = table(
    'Calls, the newest first',
    HEADS,
    page.calls.map((call) => line(call, root)),
    { class: 'calls' },
  );
  const empty = h('p', { class: 'note', hidden: page.calls.length > 0 }, 'No call is kept that fits.');
  const next = page.next ?? undefined;
  const older = h(
    'a',
    { class: 'chip', href: link(['calls'], { ...query, before: next, root }), hidden: next === undefined },
    'Older calls',
  );
  const newest = h(
    'a',
    { class: 'chip', href: link(['calls'], { ...query, before: undefined, root }), hidden: isFirstPage },
    'Newest calls',
  );
  const status = h('span', { class: 'faint' });
  const lost = h('p', { class: 'failure', hidden: true });
  const running = h('div', { class: 'running' });
  const live = button(
    '',
    () => {
      isPaused = !isPaused;
      drawLive();
    },
    { 'data-key': 'l' },
  );
  const drawLive = () => {
    fill(live, isPaused ? 'Paused' : 'Live');
    live.setAttribute('aria-pressed', !isPaused);
  };
  drawLive();
  const tell = (count) => {
    lost.hidden = count === 0;
    fill(lost, `${counted(count, 'call')} could not be kept: more were made than could be written.`);
  };
  tell(page.lost ?? 0);

  // New calls wait while somebody points at the list or moves in it: no line moves away under the pointer.
  let isHeld = false;
  const hold = (held) => () => {
    isHeld = held;
  };
  list.element.addEventListener('pointerenter', hold(true));
  list.element.addEventListener('pointerleave', hold(false));
  const isUsed = () => isHeld || list.element.contains(document.activeElement?.closest('tr') ?? null);

  let newestId = page.calls[0]?.id ?? 0;
  let arrived = [];
  let isAnew = false;
  let told = Date.now();
  let unsaid = 0;
  const release = () => {
    if (arrived.length === 0) return;
    if (isAnew) list.body.replaceChildren();
    list.body.prepend(...arrived.reverse().map((call) => line(call, root)));
    [arrived, isAnew] = [[], false];
    empty.hidden = true;
    while (list.body.childElementCount > LINES_MAX) list.body.lastElementChild.remove();
    const last = list.body.lastElementChild?.querySelector('a').hash.split('/').at(-1);
    if (list.body.childElementCount === LINES_MAX) {
      older.setAttribute('href', link(['calls'], { ...query, before: last, root }));
      older.hidden = false;
    }
  };
  const poll = async () => {
    if (isPaused || !isFirstPage) return;
    const ask = (more) => get('calls', { root, ...chosen, limit: PAGE, ...more }, signal);
    let { calls, lost: count = 0 } = await ask({ after: newestId });
    tell(count);
    if (calls.length === PAGE) {
      // More calls are made than a list can follow: it begins anew with the newest ones.
      calls = (await ask({})).calls.reverse();
      [arrived, isAnew] = [[], true];
    }
    if (calls.length > 0) {
      newestId = calls.at(-1).id;
      arrived = [...arrived, ...calls].slice(-LINES_MAX);
      unsaid += calls.length;
    }
    if (!isUsed()) release();
    fill(status, arrived.length > 0 ? `${counted(arrived.length, 'new call')}: shown when you leave the list` : '');
    // A screen reader hears of new calls every ten seconds at most.
    if (unsaid > 0 && Date.now() - told > 10_000) {
      say(counted(unsaid, 'new call'));
      [unsaid, told] = [0, Date.now()];
    }
  };
  const pollRunning = async () => {
    if (!isUsed()) drawRunning(running, await get('running', null, signal));
  };
  fill(
    place,
    h('h1', null, 'Calls'),
    form(query, root),
    h('div', { class: 'row news' }, isFirstPage && live, newest, status),
    lost,
    info.running && running,
    list.element,
    empty,
    h('p', { class: 'row' }, older),
  );
  if (isFirstPage && !chosen.until) every(1_000, signal, poll);
  if (info.running) every(1_000, signal, pollRunning);
  return 'Calls';
}

function drawRunning(place, { calls, gauges }) {
  if (!gauges) return;
  const { running, waiting, slots, memoryBytes } = gauges;
  const state = `${count(running)} of ${counted(slots, 'slot')} used, ${count(waiting)} waiting, ${bytes(memoryBytes)} of memory`;
  const items = calls
    .slice(0, 20)
    .map((call) =>
      h(
        'li',
        null,
        h('strong', null, call.tool),
        ` ${call.agent}/${call.instance} `,
        h('span', { class: 'faint' }, `for ${duration(Math.max(0, -msTo(call.since)))}`),
      ),
    );
  if (items.length === 0) fill(place, h('p', { class: 'faint' }, `Nothing runs: ${state}.`));
  else fill(place, section('Running', h('p', { class: 'faint' }, state), h('ul', null, items)));
}

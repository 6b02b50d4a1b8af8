// The calls that wait for a person's consent, and those that waited.

import { every, get } from './api.js';
import { path as pathText } from './diff.js';
import { button, fill, h, opens, plain, say, table } from './dom.js';
import { counted, until, when } from './format.js';
import { link } from './route.js';

/** Returns in a few words what a call waits to do. */
export function summary({ effect, what, state }) {
  if (what === null) return state === 'ended' ? 'cancelled before anybody decided' : 'does more than this list shows';
  if (effect === 'workdir') {
    const list = what.files ?? [];
    const first = pathText(list[0]?.path);
    return `changes ${list.length === 1 ? first : `${counted(list.length, 'file')}: ${first}, …`}`;
  }
  if (effect === 'http') return `sends ${what.method} ${pathText(what.url)}`;
  if (effect === 'agents') return `${what.operation}: ${pathText(what.target)}`;
  return `runs ${what.tool ?? ''}`;
}

/** Makes the badge of how an approval is. */
export const stateBadge = ({ state }) => h('span', { class: `badge ${state}` }, state);

function line(approval, root) {
  const to = link(['approvals', approval.id], { root });
  const { decision } = approval;
  const end = decision
    ? [`by ${plain(decision.by, 80)} `, when(decision.at)]
    : [approval.state === 'waiting' && 'expires ', until(approval.expiresAt)];
  return opens(
    to,
    { 'data-id': approval.id },
    h('td', { class: 'state' }, stateBadge(approval)),
    h('td', null, h('a', { href: to, 'data-line': true }, approval.tool), ' ', plain(summary(approval), 160)),
    h('td', null, `${approval.agent}/${approval.instance}`),
    h('td', { class: 'time' }, when(approval.createdAt)),
    h('td', { class: 'until' }, end),
  );
}

const isWaiting = ({ state }) => state === 'waiting';

/** Shows the list: `#/approvals`, and with decided ones `#/approvals?all`. */
export async function show(place, { query, root, signal }) {
  const all = query.all !== undefined;
  const more = h('p', { class: 'note' });
  const load = async () => {
    const { approvals, waiting } = await get('approvals', { root, all: all || undefined }, signal);
    const left = waiting - approvals.filter(isWaiting).length;
    fill(more, left > 0 && `${counted(left, 'call')} more ${left === 1 ? 'waits' : 'wait'}: decide about these first.`);
    return [...approvals.filter(isWaiting), ...approvals.filter((it) => !isWaiting(it))];
  };
  let listed = await load();
  const heads = ['State', 'Call', 'Who asks', 'Asked', 'Until'];
  const list = table(
    'Approvals',
    heads,
    listed.map((it) => line(it, root)),
    { class: 'approvals' },
  );
  const news = h('span', { class: 'faint' });
  const empty = h('p', { class: 'note' });
  const draw = () => {
    fill(
      list.body,
      listed.map((it) => line(it, root)),
    );
    fill(news);
    fill(empty, listed.length === 0 && 'No call waits for approval.');
  };
  draw();
  const poll = async () => {
    const now = await load();
    const known = new Map(listed.map((it) => [it.id, it]));
    const added = now.filter((it) => !known.has(it.id));
    const left = listed.filter((it) => !now.some(({ id }) => id === it.id));
    if (listed.length === 0 && now.length > 0) {
      // An empty list has nothing that could move.
      listed = now;
      draw();
      return;
    }
    // No line moves under the pointer: what is new waits for a click, and what has changed is marked where it stands.
    for (const it of now.filter(({ id, state }) => known.has(id) && known.get(id).state !== state)) {
      list.body.querySelector(`[data-id="${CSS.escape(it.id)}"]`)?.replaceWith(line(it, root));
    }
    for (const { id } of left)
      fill(list.body.querySelector(`[data-id="${CSS.escape(id)}"] .state`), h('span', { class: 'badge' }, 'decided'));
    if (added.length > 0 && !news.hasChildNodes()) say(`${added.length} new`);
    const showAll = () => {
      listed = now;
      draw();
    };
    if (added.length + left.length > 0)
      fill(news, button(`Show ${added.length > 0 ? `${added.length} new` : 'what waits now'}`, showAll));
    else fill(news);
  };
  const chip = (label, isHere, more) =>
    h('a', { class: 'chip', href: link(['approvals'], { ...more, root }), 'aria-current': isHere && 'true' }, label);
  fill(
    place,
    h('h1', null, 'Approvals'),
    h('div', { class: 'row news' }, chip('Waiting', !all), chip('Decided, too', all, { all: true }), news),
    list.element,
    empty,
    more,
  );
  every(2_000, signal, poll);
  return 'Approvals';
}

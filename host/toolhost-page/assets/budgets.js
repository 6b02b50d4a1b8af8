// What calls may use in an hour or a day, and what they have used.

import { every, get } from './api.js';
import { fill, h, pairs } from './dom.js';
import { count, until, when } from './format.js';

const share = ({ used, limit }) => (limit > 0 ? Math.min(1, used / limit) : 1);

function card(budget, at) {
  const { agent, tool, instance, eachInstance, period, kind, limit, used, isUsedUp, resetsAt } = budget;
  const whose =
    [agent && `agent ${agent}`, tool && `tool ${tool}`, instance && `instance ${instance}`]
      .filter(Boolean)
      .join(', ') || 'all calls';
  const part = share(budget);
  const state = isUsedUp ? 'error' : part >= 0.8 ? 'pending' : 'ok';
  const id = `budget-${at}`;
  const bar = h(
    'div',
    {
      class: 'track',
      role: 'meter',
      'aria-labelledby': id,
      'aria-valuemin': 0,
      'aria-valuemax': 100,
      'aria-valuenow': Math.round(part * 100),
      'aria-valuetext': `${count(used)} of ${count(limit)}`,
    },
    h('span', { class: `bar ${state}`, style: { width: `${part * 100}%` } }),
  );
  return h(
    'article',
    null,
    h('h2', { id }, `${kind} per ${period}: `, whose),
    bar,
    pairs([
      [
        'Used',
        [`${count(used)} of ${count(limit)}`, isUsedUp && [' ', h('span', { class: 'badge error' }, 'used up')]],
      ],
      ['For', eachInstance && !instance ? 'each instance' : undefined],
      ['Resets', [when(resetsAt), ` (${until(resetsAt)})`]],
    ]),
  );
}

/** Shows the budgets. */
export async function show(place, { root, signal }) {
  const list = h('div', { class: 'budgets' });
  const draw = async () => {
    const { budgets, why } = await get('budgets', { root }, signal);
    if (budgets.length > 0) fill(list, budgets.map(card));
    else fill(list, h('p', { class: 'note' }, why ?? 'The policy has no budgets.'));
  };
  await draw();
  fill(place, h('h1', null, 'Budgets'), list);
  every(5_000, signal, draw);
  return 'Budgets';
}

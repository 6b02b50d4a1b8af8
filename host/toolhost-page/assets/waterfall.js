// The calls that a call made, as bars over its time.

import { badge } from './calls.js';
import { button, h } from './dom.js';
import { count, duration } from './format.js';
import { link } from './route.js';

// Calls that are shown at first.
const LINES = 200;

// Levels that are indented; deeper ones stand at the last.
const LEVELS = 8;

/** Orders calls as a tree: each below the one that made it. Returns `[call, level]` pairs. */
export function nested(top, inner) {
  const within = Map.groupBy(inner, (call) => call.parentCallId);
  const list = [];
  const seen = new Set();
  const stack = [[top, 0]];
  while (stack.length > 0) {
    const [call, level] = stack.pop();
    if (seen.has(call.id)) continue;
    seen.add(call.id);
    list.push([call, level]);
    const calls = within.get(call.callId) ?? [];
    for (const made of calls.toReversed()) stack.push([made, level + 1]);
  }
  // One whose caller is not kept.
  for (const call of inner) if (!seen.has(call.id)) list.push([call, 1]);
  return list;
}

/** Makes the waterfall. */
export function waterfall(top, inner, root) {
  const begin = (call) => new Date(call.time).getTime();
  const end = (call) => begin(call) + (call.durationMs ?? 0);
  const all = nested(top, inner);
  const from = Math.min(...all.map(([call]) => begin(call)));
  const span = Math.max(...all.map(([call]) => end(call)), from + 1) - from;
  const percent = (ms) => `${Math.min(100, Math.max(0, (ms / span) * 100))}%`;
  const item = ([call, level]) => {
    const after = begin(call) - from;
    const bar = h('span', {
      class: `bar ${call.status}`,
      style: { marginInlineStart: percent(after), width: percent(call.durationMs ?? 0) },
    });
    const text = `${duration(call.durationMs) || 'no time'}, from ${duration(after)} on`;
    const name = h(
      'span',
      { class: 'name', style: { paddingInlineStart: `${Math.min(level, LEVELS)}rem` } },
      level > 0 && '↳ ',
      call.tool,
      call.code && [' ', badge(call)],
    );
    return h(
      'li',
      null,
      h(
        'a',
        { href: link(['calls', root, call.id]), 'data-line': true, 'aria-current': call === top && 'true' },
        name,
        h('span', { class: 'track' }, bar),
        h('span', { class: 'number' }, text),
      ),
    );
  };
  const list = h('ol', { class: 'waterfall' }, all.slice(0, LINES).map(item));
  if (all.length <= LINES) return list;
  const rest = button(`Show all ${count(all.length)} calls`, () => {
    list.append(...all.slice(LINES).map(item));
    list.children[LINES].firstElementChild.focus();
    rest.remove();
  });
  return [list, rest];
}

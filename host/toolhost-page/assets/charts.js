// How many calls, how fast, how large: over the chosen time.

import { get } from './api.js';
import { filters, times } from './calls.js';
import { fill, h, section, svg, table } from './dom.js';
import { bytes, count, counted, duration, when } from './format.js';
import { go, link } from './route.js';

const WIDTH = 480;
const HEIGHT = 140;
const LEFT = 72;
const BOTTOM = 20;

// Most buckets of a chart.
const BUCKETS_MAX = 2_000;

const clock = new Intl.DateTimeFormat('en-CA', {
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

/** Returns a number of at least `max` that is easy to read: 1, 2 or 5 times a power of `base`. */
function ceiling(max, base = 10) {
  if (max <= 0) return 1;
  const power = base ** Math.floor(Math.log(max) / Math.log(base));
  return [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 1_024].map((it) => it * power).find((it) => it >= max) ?? max;
}

/** Puts empty buckets between those that have calls, up to the end of the time. */
function filled({ buckets, bucketMs, until }) {
  const known = new Map(buckets.map((it) => [new Date(it.time).getTime(), it]));
  const first = Math.min(...known.keys());
  const all = [];
  for (let time = first; time < new Date(until).getTime() && all.length < BUCKETS_MAX; time += bucketMs) {
    all.push(known.get(time) ?? { time, calls: 0, errors: 0 });
  }
  return all;
}

/** Draws the axes, and returns where values and buckets are. */
function frame(buckets, max, shown, title) {
  const x = (at) => LEFT + (at / Math.max(buckets.length, 1)) * (WIDTH - LEFT);
  const y = (value) => HEIGHT - BOTTOM - (value / max) * (HEIGHT - BOTTOM - 8);
  const rules = [0, max / 2, max].map((value) => [
    svg('line', { class: 'rule', x1: LEFT, x2: WIDTH, y1: y(value), y2: y(value) }),
    svg('text', { x: LEFT - 6, y: y(value) + 4, 'text-anchor': 'end' }, shown(value)),
  ]);
  const label = (at, anchor) =>
    buckets[at] &&
    svg(
      'text',
      { x: anchor === 'end' ? WIDTH : LEFT, y: HEIGHT - 4, 'text-anchor': anchor },
      clock.format(new Date(buckets[at].time)),
    );
  const element = svg(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': title },
    rules,
    label(0, 'start'),
    label(buckets.length - 1, 'end'),
  );
  return { element, x, y };
}

/** Scrolls a chart that is too wide to its end, where the newest calls are. */
function newestFirst(box) {
  requestAnimationFrame(() => {
    box.scrollLeft = box.scrollWidth;
  });
  return box;
}

/** Draws stacked bars: of each bucket `[total, part]`. */
function bars(title, buckets, pair) {
  const values = buckets.map(pair);
  const { element, x, y } = frame(
    buckets,
    ceiling(Math.max(0, ...values.map(([total]) => total))),
    (it) => count(it),
    title,
  );
  values.forEach(([total, part], at) => {
    const width = Math.max(1, x(at + 1) - x(at) - 1);
    if (total > 0)
      element.append(svg('rect', { class: 'calls', x: x(at), width, y: y(total), height: y(0) - y(total) }));
    if (part > 0) element.append(svg('rect', { class: 'errors', x: x(at), width, y: y(part), height: y(0) - y(part) }));
  });
  return figure(title, element, [
    ['calls', 'calls'],
    ['errors', 'of them failed'],
  ]);
}

/** Draws a line for each of `[key, label]`. A bucket without calls interrupts it. */
function lines(title, buckets, keys, shown, base) {
  const all = buckets.flatMap((bucket) => keys.map(([key]) => bucket[key] ?? 0));
  const { element, x, y } = frame(buckets, ceiling(Math.max(0, ...all), base), shown, title);
  keys.forEach(([key], at) => {
    let path = '';
    let isDrawn = false;
    buckets.forEach((bucket, index) => {
      const has = bucket.calls > 0 && typeof bucket[key] === 'number';
      // Each bucket is a step as wide as its time.
      if (has)
        path += `${isDrawn ? 'L' : 'M'}${x(index).toFixed(1)} ${y(bucket[key]).toFixed(1)}H${x(index + 1).toFixed(1)}`;
      isDrawn = has;
    });
    element.append(svg('path', { class: `line line-${at}`, d: path || 'M0 0' }));
  });
  return figure(
    title,
    element,
    keys.map(([, label], at) => [`line-${at}`, label]),
  );
}

function figure(title, element, legend) {
  const marks = legend.map(([kind, label]) =>
    h(
      'span',
      null,
      svg(
        'svg',
        { class: 'mark', viewBox: '0 0 24 8', 'aria-hidden': 'true' },
        kind.startsWith('line')
          ? svg('path', { class: `line ${kind}`, d: 'M1 4L23 4' })
          : svg('rect', { class: kind, width: 24, height: 8 }),
      ),
      ' ',
      label,
    ),
  );
  return h(
    'figure',
    null,
    h('figcaption', null, title),
    newestFirst(h('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': title }, element)),
    h('div', { class: 'row legend' }, legend.length > 1 && marks),
  );
}

const LATENCY = [
  ['p50', 'p50'],
  ['p95', 'p95'],
  ['p99', 'p99'],
];

function numbers(buckets) {
  const rows = buckets
    .filter((it) => it.calls > 0)
    .map((it) =>
      h(
        'tr',
        null,
        h('th', { scope: 'row' }, when(it.time)),
        [
          count(it.calls),
          count(it.errors),
          duration(it.p50),
          duration(it.p95),
          duration(it.p99),
          bytes(it.memoryMax),
          duration(it.queuedP95),
        ].map((text) => h('td', { class: 'number' }, text)),
      ),
    );
  const heads = ['Time', 'Calls', 'Failed', 'p50', 'p95', 'p99', 'Most memory', 'Waited (p95)'];
  return h('details', null, h('summary', null, 'The same as a table'), table('Calls over time', heads, rows).element);
}

/** Shows the charts: `#/charts?last=1d`. */
export async function show(place, { query, root, signal }) {
  const isRange = query.since !== undefined || query.until !== undefined;
  const kept = { last: query.last ?? (isRange ? undefined : '1d'), since: query.since, until: query.until };
  const { since, until } = filters(kept);
  const stats = await get('stats', { root, since, until }, signal);
  const { codes, tools } = stats;
  const buckets = filled(stats);
  const toCalls = (more, label) =>
    h('a', { href: link(['calls'], { ...more, ...kept, root }), 'data-line': true }, label);
  const number = (text) => h('td', { class: 'number' }, text);
  const byTool = tools.map((it) =>
    h(
      'tr',
      null,
      h('th', { scope: 'row' }, toCalls({ tool: it.tool }, it.tool)),
      number(count(it.calls)),
      number(it.errors > 0 ? toCalls({ tool: it.tool, failed: true }, count(it.errors)) : '0'),
      number(duration(it.p50)),
      number(duration(it.p95)),
    ),
  );
  const most = Math.max(1, ...codes.map((it) => it.count));
  const byCode = codes.map((it) =>
    h(
      'tr',
      null,
      h('th', { scope: 'row' }, toCalls({ code: it.code }, it.code)),
      number(count(it.count)),
      h('td', { class: 'wideBar' }, h('span', { class: 'bar error', style: { width: `${(it.count / most) * 100}%` } })),
    ),
  );
  fill(
    place,
    h('h1', null, 'Charts'),
    h(
      'div',
      { class: 'row' },
      times(kept, (chosen) => go(['charts'], { ...chosen, root })),
    ),
    h(
      'p',
      { class: 'faint' },
      counted(stats.of, 'call'),
      stats.counted < stats.of && `; latency, memory, errors and tools are of ${count(stats.counted)} of them`,
    ),
    h(
      'div',
      { class: 'charts' },
      bars('Calls', buckets, (it) => [it.calls, it.errors]),
      lines('Latency', buckets, LATENCY, duration),
      lines('Most memory of a call', buckets, [['memoryMax', 'memory']], bytes, 1_024),
      lines('Waited for a slot, p95', buckets, [['queuedP95', 'waited']], duration),
    ),
    numbers(buckets),
    section(
      'Errors',
      codes.length > 0
        ? table('Errors by code', ['Code', { text: 'Calls', class: 'number' }, 'Share'], byCode).element
        : h('p', { class: 'faint' }, 'No call failed.'),
    ),
    section(
      'Tools',
      table(
        'Calls by tool',
        [
          'Tool',
          { text: 'Calls', class: 'number' },
          { text: 'Failed', class: 'number' },
          { text: 'p50', class: 'number' },
          { text: 'p95', class: 'number' },
        ],
        byTool,
      ).element,
    ),
  );
  return 'Charts';
}

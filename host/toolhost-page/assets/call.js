// A call, with all that is kept of it.

import { download, get, part } from './api.js';
import { badge } from './calls.js';
import { filesSection, path as pathText } from './diff.js';
import { block, button, copy, failure, fill, h, pairs, section, table } from './dom.js';
import { bytes, count, duration, until, when } from './format.js';
import { treeOfText } from './json.js';
import { link, listed } from './route.js';
import { waterfall } from './waterfall.js';

const USED = [
  ['Ran for', 'wallMs', duration],
  ['Waited for a slot', 'queuedMs', duration],
  ['Most memory', 'memoryPeak', bytes],
  ['Read from files', 'bytesRead', bytes],
  ['Written to files', 'bytesWritten', bytes],
  ['Files made', 'filesMade', count],
  ['Files created', 'filesCreated', count],
  ['Files changed', 'filesChanged', count],
  ['Files deleted', 'filesDeleted', count],
  ['Files renamed', 'filesRenamed', count],
  ['HTTP requests', 'httpRequests', count],
  ['Sent', 'httpSent', bytes],
  ['Received', 'httpReceived', bytes],
  ['Result', 'outputBytes', bytes],
  ['Stdout', 'stdoutBytes', bytes],
  ['Stderr', 'stderrBytes', bytes],
  ['Log records', 'logRecords', count],
  ['Log records dropped', 'logDropped', count],
];

/** Makes the receipt of a call. */
export function receipt(usage) {
  const used = USED.filter(([, key]) => usage[key]).map(([label, key, shown]) => [label, shown(usage[key])]);
  const calls = usage.toolCalls;
  if (calls) used.push(['Calls of other tools', `${count(calls.count)}, ${count(calls.failed)} failed`]);
  if (usage.changesDropped) used.push(['Changes', 'dropped, as the result means that the call failed']);
  return section('Receipt', pairs(used, { class: 'facts' }));
}

/** Makes the list of what a call was denied. */
export function denials(list) {
  const item = ({ operation, policyLine }) => {
    const allow =
      policyLine !== undefined &&
      h(
        'div',
        { class: 'row' },
        'Allowed by ',
        h('code', null, policyLine),
        copy('Copy line', () => policyLine),
      );
    return h(
      'li',
      null,
      h('code', null, operation),
      allow || h('div', { class: 'faint' }, 'No line of a policy allows it.'),
    );
  };
  return section('Denied', h('ul', null, list.map(item)));
}

function log(records) {
  const rows = records.map(({ time, level, message, context }) =>
    h(
      'tr',
      null,
      h('td', { class: 'time' }, when(time)),
      h('td', null, h('span', { class: `badge ${level}` }, level)),
      h('td', null, h('div', { class: 'words' }, message), context && h('code', { class: 'faint' }, context)),
    ),
  );
  return section('Log', table('Log records', ['Time', 'Level', 'Message'], rows).element);
}

function requests(list) {
  const rows = list.map(({ method, url, status }) =>
    h('tr', null, h('td', null, method), h('td', null, h('code', null, url)), h('td', null, status ?? 'no answer')),
  );
  return section('HTTP requests', table('HTTP requests', ['Method', 'URL', 'Status'], rows).element);
}

/** Puts the diffs of what waited for approval to the files of a call. */
function withDiffs(changed, diffs) {
  const known = new Map(diffs.map((it) => [pathText(it.path), it]));
  const all = changed.map((file) => ({ ...file, ...known.get(file.path) }));
  const listed = new Set(changed.map((file) => file.path));
  return [...all, ...diffs.filter((it) => !listed.has(pathText(it.path)))];
}

function actions(id, detail, { root }) {
  const { call, original, recording } = detail;
  const place = h('div', null);
  const testCase = async () => {
    try {
      const { yaml, notes } = await get(`calls/${part(id)}/case`, { root });
      fill(
        place,
        section(
          'Test case',
          h(
            'ul',
            null,
            notes.map((note) => h('li', null, note)),
          ),
          block(yaml, 'Test case'),
          copy('Copy test case', () => yaml),
        ),
      );
    } catch (error) {
      fill(place, failure(error));
    }
  };
  const save = async () => {
    try {
      const url = URL.createObjectURL(await download(`calls/${part(id)}/recording`, { root }));
      const anchor = document.createElement('a');
      anchor.href = url;
      anchor.download = `${call.id}.call`;
      anchor.click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (error) {
      fill(place, failure(error));
    }
  };
  const isThere = recording && !recording.problem;
  const row = h(
    'div',
    { class: 'row' },
    isThere &&
      recording.full &&
      h(
        'a',
        { class: 'chip strong', href: link(['calls', root, id, 'steps']), 'data-key': 's' },
        `Steps (${count(recording.steps)})`,
      ),
    detail.line && copy('Copy as command', () => detail.line),
    isThere && recording.full && button('Test case', testCase),
    isThere && button(`Download .call (${bytes(recording.bytes)})`, save),
  );
  const ofOriginal = () =>
    h('p', { class: 'note' }, 'What it was called with and its recording are kept with ', toCall(original, root), '.');
  return [row, original ? ofOriginal() : recordingNote(recording), place];
}

const toCall = (id, root) => h('a', { href: link(['calls', root, id]) }, `call ${count(id)}`);

function recordingNote(recording) {
  const how = [
    ' Start the server with ',
    h('code', null, '--record failed'),
    ' (or ',
    h('code', null, 'all'),
    ') to step through such a call and to replay it.',
  ];
  if (!recording) return h('p', { class: 'note' }, 'This call has no recording.', how);
  if (recording.problem) return h('p', { class: 'note' }, `Its recording cannot be read: ${recording.problem}.`);
  if (!recording.full) return h('p', { class: 'note' }, 'Its recording has no host calls.', how);
  return null;
}

function head({ call, parent, original, approval }, root) {
  const own = (key) => h('a', { href: link(['calls'], { [key]: call[key], root }) }, call[key]);
  return pairs(
    [
      ['Began', call.time && [when(call.time), ` (${until(call.time)})`]],
      ['Took', duration(call.durationMs)],
      ['Waited', call.usage?.queuedMs >= 1 ? duration(call.usage.queuedMs) : undefined],
      ['Agent', own('agent')],
      ['Instance', own('instance')],
      ['Tool', own('tool')],
      ['Turn', call.turn],
      ['Step', call.step],
      ['Call', call.callId],
      ['Number', count(call.id)],
      ['Kind', call.kind !== 'call' && [call.kind, original && [' of ', toCall(original, root)]]],
      ['Handle', call.handle],
      ['Waited for', approval && h('a', { href: link(['approvals', approval], { root }) }, 'approval')],
      [
        'Made by',
        parent
          ? h('a', { href: link(['calls', root, parent.id]) }, parent.tool, ` ${parent.callId}`)
          : call.parentCallId,
      ],
    ],
    { class: 'facts' },
  );
}

const missing = 'They are not kept: `calls: {arguments: false}` in the policy, or the call had none.';

/** Shows a call: `#/calls/ROOT/ID`. */
export async function show(place, { path: [, root, id], signal }) {
  const detail = await get(`calls/${part(id)}`, { root }, signal);
  const { call, inner = [], parent, log: records = [], requests: sent = [], diffs = [] } = detail;
  const changed = withDiffs(call.files ?? [], diffs);
  const json = (text, label) =>
    text === undefined || text === null ? h('p', { class: 'faint' }, missing) : treeOfText(text, label);
  fill(
    place,
    h('p', null, h('a', { href: listed(root) }, '← Calls')),
    h('h1', null, call.tool || '(no name)', ' ', badge(call), ' ', h('small', null, `call ${call.id}`)),
    call.message && h('p', { class: 'words' }, call.message),
    actions(id, detail, { root }),
    section('Call', head(detail, root)),
    call.denials?.length > 0 && denials(call.denials),
    !detail.original && section('Arguments', json(call.arguments, 'Arguments')),
    call.output !== undefined && section('Result', json(call.output, 'Result')),
    inner.length > 0 && section('Calls that it made', waterfall(call, inner, root)),
    changed.length > 0 && filesSection('Files', changed),
    sent.length > 0 && requests(sent),
    records.length > 0 && log(records),
    receipt(call.usage ?? {}),
  );
  return `${call.tool} ${call.id}`;
}

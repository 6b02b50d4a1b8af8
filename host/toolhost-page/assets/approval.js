// One approval: exactly what would be done, and the decision.

import { every, get, part, post } from './api.js';
import { stateBadge, summary } from './approvals.js';
import { filesSection, path as pathText } from './diff.js';
import { block, button, code, failure, fill, h, pairs, plain, say, section, table } from './dom.js';
import { counted, until, when } from './format.js';
import { tree } from './json.js';
import { link } from './route.js';

// How long a step of a decision takes no click, so that a second click of a hasty pair decides nothing, in ms.
const SETTLES = 600;

/** Makes what would be done, whole. */
function effectOf({ effect, what }) {
  if (what === null) return section('What it would do', h('p', null, 'The call was cancelled before anybody decided.'));
  if (effect === 'workdir') {
    const note = what.truncated && 'There are more files than this list has.';
    return filesSection(`Changes ${counted(what.files?.length ?? 0, 'file')} of its workdir`, what.files ?? [], note);
  }
  if (effect === 'http') return request(what);
  const { tool, args, ...message } = what;
  if (effect === 'call')
    return section(
      'Runs',
      pairs([['Tool', code(tool)]]),
      h('h3', null, 'Arguments'),
      tree(args, 'Arguments', { isText: true }),
    );
  return section('Sends to another agent', tree(message, 'Message', { isText: true }));
}

function request({ method, url, headers = [], secretHeaders = [], body }) {
  const rows = headers.map(([name, value]) =>
    h('tr', null, h('th', { scope: 'row' }, name), h('td', null, code(pathText(value)))),
  );
  const text = pathText(body);
  return section(
    'Sends a request',
    pairs([
      ['Method', code(method)],
      ['URL', code(pathText(url))],
      ['Secrets', secretHeaders.length > 0 && [code(secretHeaders.join(', ')), ': the host sets it, with a secret of the policy']],
    ]),
    rows.length > 0 && [h('h3', null, 'Headers'), table('Headers of the request', ['Name', 'Value'], rows).element],
    h('h3', null, 'Body'),
    text ? block(text, 'Body of the request') : h('p', { class: 'faint' }, 'It has none.'),
    typeof body === 'object' &&
      body !== null &&
      h('p', { class: 'note' }, 'It is not all UTF-8: \\xNN is a byte, and \\\\ a backslash.'),
  );
}

/** Returns what a decision does, in one sentence. */
function consequence(approval, decision) {
  const what = plain(summary(approval), 200);
  const who = `${plain(approval.tool, 80)} of ${plain(approval.agent, 80)}/${plain(approval.instance, 80)}`;
  return decision === 'approve'
    ? `${who} ${what}. It is done once, exactly as shown here.`
    : `It is not done: ${who} does not go on, and the model reads your reason.`;
}

/** Makes the place of the decision. Its buttons stay where they are, whatever happens. */
function deciding(approval, root, done) {
  const confirm = h('div', { class: 'confirm' });
  const ask = (decision) => (event) => {
    // The second click of a pair is meant for nothing here.
    if (event.detail > 1) return;
    const isApproval = decision === 'approve';
    const why = h('textarea', { id: 'why', rows: 2, maxlength: 1_000 });
    const send = h(
      'button',
      { class: isApproval ? 'strong' : 'danger', disabled: true },
      isApproval ? 'Approve it' : 'Deny it',
    );
    const submit = async (submitted) => {
      submitted.preventDefault();
      if (send.disabled) return;
      send.disabled = true;
      try {
        done(await post(`approvals/${part(approval.id)}`, { root }, { decision, why: why.value.trim() || undefined }));
      } catch (error) {
        fill(confirm, failure(error));
        if (error.status === 409) done(await get(`approvals/${part(approval.id)}`, { root }), error);
      }
    };
    const form = h(
      'form',
      { class: decision, onsubmit: submit, 'aria-label': isApproval ? 'Approve' : 'Deny' },
      h('p', null, h('strong', null, isApproval ? 'Approve: ' : 'Deny: '), consequence(approval, decision)),
      h('label', { for: 'why' }, isApproval ? 'Note (optional)' : 'Reason (the model reads it)'),
      why,
      h(
        'div',
        { class: 'row' },
        send,
        button('Not now', () => fill(confirm)),
      ),
    );
    fill(confirm, form);
    why.focus();
    setTimeout(() => {
      send.disabled = false;
    }, SETTLES);
  };
  const buttons = [
    button('Approve …', ask('approve'), { class: 'strong' }),
    button('Deny …', ask('deny'), { class: 'danger' }),
  ];
  const freeze = () => {
    for (const it of buttons) it.disabled = true;
    fill(confirm);
  };
  return { element: section('Decide', h('div', { class: 'row' }, buttons), confirm), freeze };
}

const NOT_YET =
  'Not yet. The process that serves the bundle does it within a second; without one, the next poll of the call does.';

function outcome({ decision, state, isOpen }) {
  if (!decision)
    return h(
      'p',
      null,
      {
        expired: 'It has expired: the agent has to make the call again.',
        ended: 'The call does not wait for it any more: it was cancelled, or asked for something else since.',
      }[state] ?? '',
    );
  return section(
    'Decided',
    pairs([
      ['Decision', state],
      ['Done', state === 'approved' && (isOpen ? NOT_YET : 'The call has gone on.')],
      ['By', decision.by],
      ['At', when(decision.at)],
      ['Why', decision.why && h('span', { class: 'words' }, decision.why)],
    ]),
  );
}

/** Shows an approval: `#/approvals/ID`. */
export async function show(place, { path: [, id], root, signal }) {
  let approval = await get(`approvals/${part(id)}`, { root }, signal);
  const state = h('span', null, stateBadge(approval));
  const result = h('div', { class: 'outcome', tabindex: -1 }, outcome(approval));
  const done = (now, error) => {
    const isOurs = approval.state !== now.state;
    approval = now;
    fill(state, stateBadge(now));
    decide?.freeze();
    fill(result, error && failure(error), outcome(now));
    if (!isOurs) return;
    say(`It is ${now.state}`);
    result.focus();
  };
  const decide = approval.state === 'waiting' ? deciding(approval, root, done) : undefined;
  const { createdAt, expiresAt, digest } = approval;
  fill(
    place,
    h('p', null, h('a', { href: link(['approvals'], { root }) }, '← Approvals')),
    h('h1', null, approval.tool, ' ', state),
    pairs(
      [
        ['Agent', approval.agent],
        ['Instance', approval.instance],
        ['Asked', [when(createdAt), ` (${until(createdAt)})`]],
        ['Expires', [when(expiresAt), ` (${until(expiresAt)})`]],
      ],
      { class: 'facts' },
    ),
    effectOf(approval),
    decide?.element,
    result,
    section(
      'What it is bound to',
      pairs([
        ['Digest', h('code', null, digest)],
        ['Id', approval.id],
        [
          'Call',
          approval.call ? h('a', { href: link(['calls', root, approval.call]) }, approval.callId) : approval.callId,
        ],
        ['Bundle', approval.bundle],
      ]),
    ),
  );
  if (approval.isOpen) {
    every(2_000, signal, async () => {
      if (!approval.isOpen) return;
      const now = await get(`approvals/${part(id)}/brief`, { root }, signal);
      if (now.state !== approval.state || now.isOpen !== approval.isOpen) done(now);
    });
  }
  return `${approval.tool}: approval`;
}

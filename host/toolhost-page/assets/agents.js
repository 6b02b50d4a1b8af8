// The tools of each agent, what the policy allows them, and a form that calls one by hand.

import { get, part, post } from './api.js';
import { badge } from './calls.js';
import { block, failure, fill, h, pairs, say, section } from './dom.js';
import { field, raw } from './form.js';
import { tree } from './json.js';
import { link } from './route.js';

// The instance of the last call by hand.
let instance = 'watch';

/** Shows the agents: `#/agents/NAME/TOOL`. */
export async function show(place, { path: [, name, tool], root, info, signal }) {
  const heading = h('h1', null, 'Agents');
  if (info.agents.length === 0) {
    fill(
      place,
      heading,
      h(
        'p',
        { class: 'note' },
        'No bundle is loaded. Start the page with one to see its agents and to call tools by hand: ',
        h('code', null, 'toolhost watch --bundle DIR'),
        '.',
      ),
    );
    return 'Agents';
  }
  const { agents } = await get('agents', { root }, signal);
  const agent = agents.find((it) => it.name === name) ?? agents[0];
  const chosen = agent.tools.find((it) => it.name === tool);
  const chip = (it) =>
    h(
      'a',
      { class: 'chip', href: link(['agents', it.name], { root }), 'aria-current': it === agent && 'true' },
      it.name,
    );
  const item = (it) =>
    h(
      'li',
      null,
      h(
        'a',
        {
          href: link(['agents', agent.name, it.name], { root }),
          'data-line': true,
          'aria-current': it === chosen && 'true',
        },
        it.name,
      ),
    );
  fill(
    place,
    heading,
    h('div', { class: 'row', role: 'group', 'aria-label': 'Agents' }, agents.map(chip)),
    h(
      'div',
      { class: 'steps' },
      h('nav', { 'aria-label': `Tools of ${agent.name}` }, h('ul', { class: 'plain' }, agent.tools.map(item))),
      h(
        'div',
        null,
        chosen
          ? details(agent, chosen, root)
          : h('p', { class: 'note' }, agent.tools.length > 0 ? 'Choose a tool.' : 'The agent has no tools.'),
      ),
    ),
  );
  return chosen ? chosen.name : `Agent ${agent.name}`;
}

function details(agent, tool, root) {
  const resource = tool.name.split('__')[0];
  const policy = (agent.policy ?? [])
    .filter((it) => it.tool === resource || it.tool === tool.name)
    .flatMap((it) => it.lines);
  return [
    h('h2', null, tool.name),
    tool.description && h('p', { class: 'words' }, tool.description),
    section(
      'What it may do',
      policy.length > 0
        ? h(
            'ul',
            null,
            policy.map((it) => h('li', null, it)),
          )
        : h('p', { class: 'faint' }, 'The policy grants it nothing beyond its workdir.'),
    ),
    callForm(agent, tool, root),
    h('details', null, h('summary', null, 'Schema of the arguments'), tree(tool.parameters ?? {}, 'Schema')),
  ];
}

function callForm(agent, tool, root) {
  const result = h('div', null);
  const place = h('div', null);
  let input;
  const use = (made) => {
    input = made;
    fill(place, made.element);
  };
  use(field(tool.parameters ?? {}));
  const asJson = h('input', {
    type: 'checkbox',
    onchange: ({ target }) =>
      use(target.checked ? raw(JSON.stringify(value() ?? {}, null, 2)) : field(tool.parameters ?? {}, value())),
  });
  const value = () => {
    try {
      return input.value();
    } catch {
      return undefined;
    }
  };
  const who = h('input', { id: 'instance', value: instance, required: true, spellcheck: 'false' });
  const send = h('button', { class: 'strong' }, 'Call');
  const submit = async (event) => {
    event.preventDefault();
    if (send.disabled) return;
    instance = who.value.trim();
    let args;
    try {
      args = input.value();
    } catch (error) {
      fill(result, failure(error));
      return;
    }
    send.disabled = true;
    fill(result, h('p', { class: 'faint' }, 'It runs.'));
    try {
      const answer = await post(`agents/${part(agent.name)}/calls`, { root }, { tool: tool.name, args, instance });
      fill(result, resultOf(answer, root));
      say(`The call ended: ${answer.result.status}`);
    } catch (error) {
      fill(result, failure(error));
    }
    send.disabled = false;
  };
  return section(
    'Call it',
    h(
      'form',
      { class: 'call', onsubmit: submit, novalidate: true },
      h('p', null, h('label', null, asJson, ' Write the arguments as JSON')),
      place,
      h('p', null, h('label', { for: 'instance' }, 'Instance '), who),
      h('div', { class: 'row' }, send),
    ),
    result,
  );
}

function resultOf({ result, id }, root) {
  const { status, output, error, handle, details: waits } = result;
  return section(
    'Result',
    pairs([
      ['Status', badge({ status, code: error?.code })],
      ['Message', error && h('div', { class: 'words' }, error.message)],
      ['Next', error?.suggestion && h('div', { class: 'words' }, error.suggestion)],
      ['Handle', handle],
      [
        'Waits for',
        waits?.reason === 'awaiting-approval' ? h('a', { href: link(['approvals'], { root }) }, 'approval') : undefined,
      ],
      [
        'Call',
        id !== undefined && id !== null ? h('a', { href: link(['calls', root, id]) }, `number ${id}`) : undefined,
      ],
    ]),
    error?.details !== undefined && block(JSON.stringify(error.details, null, 2), 'Details of the error'),
    output !== undefined && tree(output, 'Output'),
  );
}

/** The module `toolhost/agents` in Node, where there are no other agents. */

const refuse = (name) => async () => {
  throw Object.assign(new Error(`toolhost/agents: \`${name}\` works only in toolhost`), {
    code: 'NOT_HERE',
    suggestion: 'give the handler a function in its place, and pass another one in the test',
  });
};

export const request = refuse('request');
export const send = refuse('send');
export const spawn = refuse('spawn');
export const list = refuse('list');
export const catalog = refuse('catalog');

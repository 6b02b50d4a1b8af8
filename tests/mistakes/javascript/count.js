// Mistakes of an author at run time, a handler for each. Errors are not caught.
import { getDirectories } from 'wasi:filesystem/preopens@0.2.12';

const tools = {
  'type-error': () => JSON.parse('"three"').toFixed(2),
  throw: () => {
    throw new Error('there is no fourth number');
  },
  loop: () => {
    for (;;);
  },
  memory: () => {
    const kept = [];
    for (;;) kept.push(new Uint8Array(1 << 20).fill(1));
  },
  escape: () => {
    const [[workdir]] = getDirectories();
    return String(workdir.openAt({}, '../secret.txt', {}, { read: true }));
  },
  request: async () => (await fetch('http://example.org/')).status,
};

export const handlers = {
  describe: () => Object.keys(tools).map((name) => ({ name })),
  async call(name) {
    return { tag: 'output', val: JSON.stringify(await tools[name]()) };
  },
};

/** `node:timers` and `node:timers/promises`. */

export const promises = {
  setTimeout: (ms?: number, value?: unknown) => new Promise((resolve) => setTimeout(resolve, ms, value)),
  setImmediate: (value?: unknown) => new Promise((resolve) => setImmediate(resolve, value)),
  scheduler: { wait: (ms: number) => promises.setTimeout(ms) },
};

export default { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate, promises };

/** Modules of Node of which packages use little. */

export const tty = { isatty: () => false, ReadStream: class {}, WriteStream: class {} };

/** A function that finds no module: those of a tool are bundled where they are imported. */
function createRequire(): (name: string) => never {
  return (name) => {
    throw Object.assign(new Error(`Cannot find module '${name}': it is not in the component`), { code: 'MODULE_NOT_FOUND' });
  };
}

export const module = { createRequire, builtinModules: [] as string[], isBuiltin: () => false };

type Listener = (message: unknown, name: string) => void;

class Channel {
  #listeners: Listener[] = [];

  constructor(readonly name: string) {}

  get hasSubscribers(): boolean {
    return this.#listeners.length > 0;
  }

  subscribe(listener: Listener): void {
    this.#listeners.push(listener);
  }

  unsubscribe(listener: Listener): void {
    this.#listeners = this.#listeners.filter((each) => each !== listener);
  }

  publish(message: unknown): void {
    for (const listener of this.#listeners) listener(message, this.name);
  }

  runStores(message: unknown, act: (...args: any[]) => unknown, self?: unknown, ...args: unknown[]): unknown {
    this.publish(message);
    return act.apply(self, args);
  }
}

const channels = new Map<string, Channel>();

function channel(name: string): Channel {
  const there = channels.get(name) ?? new Channel(name);
  channels.set(name, there);
  return there;
}

/** The channels of what begins, ends and fails, to which nothing is published by itself. */
function tracingChannel(name: string): object {
  const parts = Object.fromEntries(['start', 'end', 'asyncStart', 'asyncEnd', 'error'].map((part) => [part, channel(`tracing:${name}:${part}`)]));
  const trace = (act: (...args: any[]) => unknown, _: unknown, self: unknown, ...args: unknown[]) => act.apply(self, args);
  return {
    ...parts,
    get hasSubscribers() {
      return Object.values(parts).some((part) => part.hasSubscribers);
    },
    subscribe: (listeners: Record<string, Listener>) => Object.entries(listeners).forEach(([part, listener]) => parts[part]?.subscribe(listener)),
    unsubscribe: (listeners: Record<string, Listener>) => Object.entries(listeners).forEach(([part, listener]) => parts[part]?.unsubscribe(listener)),
    traceSync: trace,
    tracePromise: trace,
    traceCallback: (act: (...args: any[]) => unknown, _: number, __: unknown, self: unknown, ...args: unknown[]) => act.apply(self, args),
  };
}

export const diagnosticsChannel = {
  tracingChannel,
  Channel,
  channel,
  hasSubscribers: (name: string) => channel(name).hasSubscribers,
  subscribe: (name: string, listener: Listener) => channel(name).subscribe(listener),
  unsubscribe: (name: string, listener: Listener) => channel(name).unsubscribe(listener),
};

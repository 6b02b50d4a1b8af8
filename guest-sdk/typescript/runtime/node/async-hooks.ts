/** `node:async_hooks`: `AsyncLocalStorage` and `AsyncResource`. */
import { carryContext } from 'toolhost:engine';

/** The stores that hold now. A change makes another map. */
let current: ReadonlyMap<AsyncLocalStorage, unknown> = new Map();

function runIn<T>(context: typeof current, act: () => T): T {
  const before = current;
  current = context;
  try {
    return act();
  } finally {
    current = before;
  }
}

/** Returns a function that runs another one with the stores that hold now. */
function bound<A extends unknown[], R>(act: (...args: A) => R): (...args: A) => R {
  const context = current;
  return function (this: unknown, ...args) {
    return runIn(context, () => act.apply(this, args));
  };
}

carryContext(bound);

class AsyncLocalStorage {
  static bind = bound;
  static snapshot = () => bound((act: (...args: unknown[]) => unknown, ...args: unknown[]) => act(...args));

  getStore(): unknown {
    return current.get(this);
  }

  run(store: unknown, act: (...args: any[]) => unknown, ...args: unknown[]): unknown {
    return runIn(new Map(current).set(this, store), () => act(...args));
  }

  exit(act: (...args: any[]) => unknown, ...args: unknown[]): unknown {
    const context = new Map(current);
    context.delete(this);
    return runIn(context, () => act(...args));
  }

  enterWith(store: unknown): void {
    current = new Map(current).set(this, store);
  }

  disable(): void {
    const context = new Map(current);
    context.delete(this);
    current = context;
  }
}

class AsyncResource {
  static bind = bound;
  readonly #run = AsyncLocalStorage.snapshot();

  constructor(readonly type: string) {}

  runInAsyncScope(act: (...args: any[]) => unknown, self?: unknown, ...args: unknown[]): unknown {
    return this.#run(() => act.apply(self, args));
  }

  bind(act: (...args: any[]) => unknown): (...args: unknown[]) => unknown {
    return (...args) => this.runInAsyncScope(act, undefined, ...args);
  }

  emitDestroy(): this {
    return this;
  }

  asyncId(): number {
    return 1;
  }

  triggerAsyncId(): number {
    return 0;
  }
}

const hook = { enable: () => hook, disable: () => hook };

export default { AsyncLocalStorage, AsyncResource, createHook: () => hook, executionAsyncId: () => 1, triggerAsyncId: () => 0, executionAsyncResource: () => ({}) };

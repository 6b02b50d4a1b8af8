/**
 * `Promise` over our own queue.
 *
 * QuickJS runs its own promises' reactions only when its host asks, and nothing asks during a
 * synchronous export. So async functions are compiled to generators, `runAsyncFunction` drives
 * them with this class, and `settle` runs its queue. A reaction is an object with a method and not
 * a closure, and an `await` of a plain value makes no promise: an interpreter pays for each.
 */
import { enqueue, forgetRejection, noteRejection } from './queue';

type Resolve<T> = (value?: T | PromiseLike<T>) => void;
type Reject = (reason?: unknown) => void;
type Executor<T> = (resolve: Resolve<T>, reject: Reject) => void;

const PENDING = 0;
const FULFILLED = 1;
const REJECTED = 2;
type State = typeof PENDING | typeof FULFILLED | typeof REJECTED;

/** What runs once a promise is settled; its state and its value or reason are set before. */
interface Reaction {
  state: State;
  value: any;
  run(): void;
}

/** Passed instead of an executor: the promise is settled by this file. */
const INTERNAL: any = {};

/** Access to private members of promises, for the reactions. */
let resolve: (promise: QueuedPromise<any>, value: any) => void;
let reject: (promise: QueuedPromise<any>, reason: unknown) => void;
let whenSettled: (value: any, reaction: Reaction) => void;

/** Makes a reaction run with the context in which it was made. Set by what follows contexts. */
let carried: ((reaction: Reaction) => Reaction) | undefined;

/** Has `bind` bind what continues an async function, and the handlers of promises. */
export function carryReactions(bind: (act: () => void) => () => void): void {
  carried = (reaction) => {
    const bound: Reaction = {
      state: reaction.state,
      value: reaction.value,
      run: bind(() => {
        reaction.state = bound.state;
        reaction.value = bound.value;
        reaction.run();
      }),
    };
    return bound;
  };
}

class QueuedPromise<T> {
  #state: State = PENDING;
  #handled = false;
  /** The value or the reason; while pending, the reactions, if there are any. */
  #value: any = undefined;

  constructor(executor: Executor<T>) {
    if (executor === INTERNAL) return;
    if (typeof executor !== 'function') {
      throw new TypeError(`Promise resolver ${String(executor)} is not a function`);
    }
    this.#call(executor);
  }

  static {
    resolve = (promise, value) => promise.#resolve(value);
    reject = (promise, reason) => promise.#settle(REJECTED, reason);
    whenSettled = (value, reaction) => {
      const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
      if (!isObject) {
        reaction.state = FULFILLED;
        reaction.value = value;
        enqueue(carried ? carried(reaction) : reaction);
      } else if (#state in value && value.constructor === QueuedPromise) {
        value.#react(reaction);
      } else {
        const promise = new QueuedPromise<any>(INTERNAL);
        promise.#resolve(value);
        promise.#react(reaction);
      }
    };
  }

  /** Calls a function with the pair of functions that settle this promise; the first call of one counts. */
  #call(executor: Executor<any>): void {
    let decided = false;
    const settle = (value: unknown): void => {
      if (decided) return;
      decided = true;
      this.#resolve(value);
    };
    const fail = (reason: unknown): void => {
      if (decided) return;
      decided = true;
      this.#settle(REJECTED, reason);
    };
    try {
      executor(settle, fail);
    } catch (error) {
      fail(error);
    }
  }

  #resolve(value: any): void {
    if (value === this) {
      this.#settle(REJECTED, new TypeError('Chaining cycle detected for promise'));
      return;
    }
    if ((typeof value !== 'object' || value === null) && typeof value !== 'function') {
      this.#settle(FULFILLED, value);
      return;
    }
    let then: unknown;
    try {
      then = value.then;
    } catch (error) {
      this.#settle(REJECTED, error);
      return;
    }
    if (typeof then !== 'function') this.#settle(FULFILLED, value);
    else if (then === ownThen && #state in value) enqueue(() => value.#react(new Adoption(this)));
    else enqueue(() => this.#call((settle, fail) => then.call(value, settle, fail)));
  }

  #settle(state: State, value: unknown): void {
    const reactions: Reaction | Reaction[] | undefined = this.#value;
    this.#state = state;
    this.#value = value;
    if (state === REJECTED && !this.#handled) noteRejection(this, value);
    if (reactions === undefined) return;
    for (const reaction of Array.isArray(reactions) ? reactions : [reactions]) {
      reaction.state = state;
      reaction.value = value;
      enqueue(reaction);
    }
  }

  #react(plain: Reaction): void {
    const reaction = carried ? carried(plain) : plain;
    if (this.#state === PENDING) {
      if (this.#value === undefined) this.#value = reaction;
      else if (Array.isArray(this.#value)) this.#value.push(reaction);
      else this.#value = [this.#value, reaction];
    } else {
      reaction.state = this.#state;
      reaction.value = this.#value;
      enqueue(reaction);
      if (this.#state === REJECTED && !this.#handled) forgetRejection(this);
    }
    this.#handled = true;
  }

  then(onFulfilled?: unknown, onRejected?: unknown): any {
    const own = this.constructor === QueuedPromise;
    const Species = own ? QueuedPromise : ((this.constructor as any)?.[Symbol.species] ?? QueuedPromise);
    const next = Species === QueuedPromise ? new QueuedPromise<any>(INTERNAL) : new Capability(Species);
    this.#react(new Handlers(onFulfilled, onRejected, next));
    return next instanceof Capability ? next.promise : next;
  }

  catch(onRejected?: unknown): any {
    return this.then(undefined, onRejected);
  }

  finally(onFinally?: unknown): any {
    if (typeof onFinally !== 'function') return this.then(onFinally, onFinally);
    const Species = (this.constructor as any)?.[Symbol.species] ?? QueuedPromise;
    return this.then(
      (value: unknown) => Species.resolve(onFinally()).then(() => value),
      (reason: unknown) =>
        Species.resolve(onFinally()).then(() => {
          throw reason;
        }),
    );
  }

  get [Symbol.toStringTag](): string {
    return 'Promise';
  }

  static get [Symbol.species](): unknown {
    return this;
  }

  static resolve(value?: any): any {
    if (value instanceof QueuedPromise && value.constructor === this) return value;
    return new this((resolve) => resolve(value));
  }

  static reject(reason?: unknown): any {
    return new this((_, reject) => reject(reason));
  }

  static withResolvers(): any {
    let resolve, reject;
    const promise = new this((yes, no) => {
      resolve = yes;
      reject = no;
    });
    return { promise, resolve, reject };
  }

  static try(act: (...args: any[]) => unknown, ...args: unknown[]): any {
    return new this((resolve) => resolve(act(...args)));
  }

  static all(items: Iterable<any>): any {
    return this.#gather(items, (item, slot, values, done, reject) =>
      item.then((value: unknown) => {
        values[slot] = value;
        done();
      }, reject),
    );
  }

  static allSettled(items: Iterable<any>): any {
    return this.#gather(items, (item, slot, values, done) =>
      item.then(
        (value: unknown) => {
          values[slot] = { status: 'fulfilled', value };
          done();
        },
        (reason: unknown) => {
          values[slot] = { status: 'rejected', reason };
          done();
        },
      ),
    );
  }

  static any(items: Iterable<any>): any {
    return new this((resolve, reject) => {
      const reasons: unknown[] = [];
      let open = 1;
      const done = () => {
        open -= 1;
        if (open === 0) reject(new AggregateError(reasons, 'All promises were rejected'));
      };
      let slot = 0;
      for (const item of items) {
        const mine = slot++;
        open += 1;
        this.resolve(item).then(resolve, (reason: unknown) => {
          reasons[mine] = reason;
          done();
        });
      }
      done();
    });
  }

  static race(items: Iterable<any>): any {
    return new this((resolve, reject) => {
      for (const item of items) this.resolve(item).then(resolve, reject);
    });
  }

  /** Resolves to an array once `listen` has called `done` for every item. */
  static #gather(
    items: Iterable<any>,
    listen: (item: any, slot: number, values: unknown[], done: () => void, reject: Reject) => void,
  ): any {
    return new this((resolve, reject) => {
      const values: unknown[] = [];
      let open = 1;
      const done = () => {
        open -= 1;
        if (open === 0) resolve(values as any);
      };
      let slot = 0;
      for (const item of items) {
        open += 1;
        listen(this.resolve(item), slot++, values, done, reject);
      }
      done();
    });
  }
}

Object.defineProperty(QueuedPromise, 'name', { value: 'Promise' });
const ownThen = QueuedPromise.prototype.then;

/** A promise of a subclass, and how to settle it. */
class Capability {
  declare settle: Resolve<any>;
  declare fail: Reject;
  declare promise: unknown;

  constructor(Species: new (executor: Executor<any>) => unknown) {
    this.promise = new Species((settle, fail) => {
      this.settle = settle;
      this.fail = fail;
    });
  }
}

/** The handlers of a `then`, and the promise that it returned. */
class Handlers implements Reaction {
  declare state: State;
  declare value: any;
  declare onFulfilled: unknown;
  declare onRejected: unknown;
  declare next: QueuedPromise<any> | Capability;

  constructor(onFulfilled: unknown, onRejected: unknown, next: QueuedPromise<any> | Capability) {
    this.onFulfilled = onFulfilled;
    this.onRejected = onRejected;
    this.next = next;
  }

  run(): void {
    const { state, value, next } = this;
    const handler = state === FULFILLED ? this.onFulfilled : this.onRejected;
    if (typeof handler !== 'function') {
      if (state === FULFILLED) settle(next, value);
      else fail(next, value);
      return;
    }
    let result;
    try {
      result = handler(value);
    } catch (error) {
      fail(next, error);
      return;
    }
    settle(next, result);
  }
}

function settle(next: QueuedPromise<any> | Capability, value: unknown): void {
  if (next instanceof Capability) next.settle(value);
  else resolve(next, value);
}

function fail(next: QueuedPromise<any> | Capability, reason: unknown): void {
  if (next instanceof Capability) next.fail(reason);
  else reject(next, reason);
}

/** Settles a promise as another one of this class, with which it was resolved. */
class Adoption implements Reaction {
  declare state: State;
  declare value: any;
  declare next: QueuedPromise<any>;

  constructor(next: QueuedPromise<any>) {
    this.next = next;
  }

  run(): void {
    if (this.state === FULFILLED) resolve(this.next, this.value);
    else reject(this.next, this.value);
  }
}

/** An async function that runs: it continues when the value is settled for which it waits. */
class Coroutine implements Reaction {
  declare state: State;
  declare value: any;
  declare steps: Iterator<unknown>;
  declare promise: QueuedPromise<any>;

  constructor(steps: Iterator<unknown>, promise: QueuedPromise<any>) {
    this.state = FULFILLED;
    this.value = undefined;
    this.steps = steps;
    this.promise = promise;
  }

  run(): void {
    try {
      const { done, value } = this.state === FULFILLED ? this.steps.next(this.value) : this.steps.throw!(this.value);
      if (done) resolve(this.promise, value);
      else whenSettled(value, this);
    } catch (error) {
      reject(this.promise, error);
    }
  }
}

/** Runs an async function that was compiled to a generator. The bundler puts it in place of esbuild's `__async`. */
export function runAsyncFunction(self: unknown, args: ArrayLike<any>, start: (...args: any[]) => Iterator<unknown>): unknown {
  const promise = new QueuedPromise<any>(INTERNAL);
  try {
    new Coroutine(start.apply(self, args as any[]), promise).run();
  } catch (error) {
    reject(promise, error);
  }
  return promise;
}

/** Returns a promise that `fulfil` or `refuse` settles. It costs less than one with an executor. */
export function pendingPromise(): Promise<unknown> {
  return new QueuedPromise<unknown>(INTERNAL) as unknown as Promise<unknown>;
}

export function fulfil(promise: object, value: unknown): void {
  resolve(promise as QueuedPromise<any>, value);
}

export function refuse(promise: object, reason: unknown): void {
  reject(promise as QueuedPromise<any>, reason);
}

export { QueuedPromise };

/**
 * `Promise` over our own queue.
 *
 * QuickJS runs its own promises' reactions only when its host asks, and nothing asks during a
 * synchronous export. So async functions are compiled to generators, `runAsyncFunction` drives
 * them with this class, and `settle` runs its queue. A reaction is an object with a method and not
 * a closure, and an `await` of a plain value makes no promise: an interpreter pays for each.
 */
import { enqueue, forgetRejection, isIdle, noteRejection } from './queue';

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

/** What has access to the private members of promises. Private methods would cost each promise more. */
let resolve: (promise: QueuedPromise<any>, value: any) => void;
let settleAs: (promise: QueuedPromise<any>, state: State, value: any, start?: typeof enqueueWith) => void;
let react: (promise: QueuedPromise<any>, reaction: Reaction) => void;
let isOwn: (value: object) => value is QueuedPromise<any>;
let isHandled: (promise: QueuedPromise<any>) => boolean;
/** Undefined for a promise that is settled. */
let reactionsTo: (promise: QueuedPromise<any>) => Reaction[] | undefined;

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
    decide(this, executor);
  }

  static {
    resolve = (promise, value) => {
      if (value === promise) {
        settleAs(promise, REJECTED, new TypeError('Chaining cycle detected for promise'));
        return;
      }
      if ((typeof value !== 'object' || value === null) && typeof value !== 'function') {
        settleAs(promise, FULFILLED, value);
        return;
      }
      let then: unknown;
      try {
        then = value.then;
      } catch (error) {
        settleAs(promise, REJECTED, error);
        return;
      }
      if (typeof then !== 'function') settleAs(promise, FULFILLED, value);
      else if (then === ownThen && #state in value) enqueue(() => react(value, new Adoption(promise)));
      else enqueue(() => decide(promise, (settle, fail) => then.call(value, settle, fail)));
    };
    settleAs = (promise, state, value, start = enqueueWith) => {
      const reactions: Reaction | Reaction[] | undefined = promise.#value;
      promise.#state = state;
      promise.#value = value;
      if (state === REJECTED && !promise.#handled) noteRejection(promise, value);
      if (reactions === undefined) return;
      if (Array.isArray(reactions)) for (const reaction of reactions) enqueueWith(reaction, state, value);
      else start(reactions, state, value);
    };
    react = (promise, plain) => {
      const reaction = carried ? carried(plain) : plain;
      const state = promise.#state;
      const value = promise.#value;
      if (state !== PENDING) {
        enqueueWith(reaction, state, value);
        if (state === REJECTED && !promise.#handled) forgetRejection(promise);
      } else if (value === undefined) promise.#value = reaction;
      else if (Array.isArray(value)) value.push(reaction);
      else promise.#value = [value, reaction];
      promise.#handled = true;
    };
    isHandled = (promise) => promise.#handled;
    reactionsTo = (promise) => (promise.#state === PENDING ? [promise.#value ?? []].flat() : undefined);
    isOwn = (value): value is QueuedPromise<any> => #state in value && value.constructor === QueuedPromise;
  }

  then(onFulfilled?: unknown, onRejected?: unknown): any {
    const own = this.constructor === QueuedPromise;
    const Species = own ? QueuedPromise : ((this.constructor as any)?.[Symbol.species] ?? QueuedPromise);
    const next = Species === QueuedPromise ? new QueuedPromise<any>(INTERNAL) : new Capability(Species);
    react(this, new Handlers(onFulfilled, onRejected, next));
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
    return this.#gather(items, All);
  }

  static allSettled(items: Iterable<any>): any {
    return this.#gather(items, AllSettled);
  }

  static any(items: Iterable<any>): any {
    return new this((resolve, reject) => {
      const reasons: unknown[] = [];
      const race = new Race(resolve);
      let open = 1;
      const done = () => {
        open -= 1;
        if (open === 0) reject(new AggregateError(reasons, 'All promises were rejected'));
      };
      let slot = 0;
      for (const item of items) {
        const mine = slot++;
        open += 1;
        race.add(this.resolve(item), (reason: unknown) => {
          reasons[mine] = reason;
          done();
        });
      }
      done();
    });
  }

  static race(items: Iterable<any>): any {
    return new this((resolve, reject) => {
      const race = new Race(resolve);
      const fail = race.ending(reject);
      for (const item of items) race.add(this.resolve(item), fail);
    });
  }

  /** Resolves to an array once each item is settled. */
  static #gather(items: Iterable<any>, Item: new (slot: number, gathering: Gathering) => Reaction): any {
    let gathering!: Gathering;
    const promise = new this((resolve, reject) => {
      gathering = new Gathering(resolve, reject);
      let slot = 0;
      for (const item of items) {
        gathering.open += 1;
        const promise = this.resolve(item);
        const reaction = new Item(slot++, gathering);
        if (isOwn(promise) && promise.then === ownThen) react(promise, reaction);
        else {
          promise.then(
            (value: unknown) => runWith(reaction, FULFILLED, value),
            (reason: unknown) => runWith(reaction, REJECTED, reason),
          );
        }
      }
      gathering.done();
    });
    gathering.promise = promise;
    return promise;
  }
}

/** Calls a function with the pair of functions that settle a promise; the first call of one counts. */
function decide(promise: QueuedPromise<any>, executor: Executor<any>): void {
  let decided = false;
  const settle = (value: unknown): void => {
    if (decided) return;
    decided = true;
    resolve(promise, value);
  };
  const fail = (reason: unknown): void => {
    if (decided) return;
    decided = true;
    settleAs(promise, REJECTED, reason);
  };
  try {
    executor(settle, fail);
  } catch (error) {
    fail(error);
  }
}

/** Runs a reaction once the promise is settled, or for a value that is none. */
function whenSettled(value: any, reaction: Reaction): void {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
  if (!isObject) {
    enqueueWith(carried ? carried(reaction) : reaction, FULFILLED, value);
  } else if (isOwn(value)) {
    react(value, reaction);
  } else {
    const promise = new QueuedPromise<any>(INTERNAL);
    resolve(promise, value);
    react(promise, reaction);
  }
}

function enqueueWith(reaction: Reaction, state: State, value: unknown): void {
  reaction.state = state;
  reaction.value = value;
  enqueue(reaction);
}

function runWith(reaction: Reaction, state: State, value: unknown): void {
  reaction.state = state;
  reaction.value = value;
  reaction.run();
}

/** The values of several promises. */
class Gathering {
  readonly values: unknown[] = [];
  open = 1;
  /** Theirs together. */
  promise: unknown;

  constructor(
    readonly resolve: Resolve<any>,
    readonly reject: Reject,
  ) {}

  done(): void {
    this.open -= 1;
    if (this.open === 0) this.resolve(this.values);
  }
}

/** One of them, which `Promise.all` waits for. */
class All implements Reaction {
  declare state: State;
  declare value: any;

  constructor(
    readonly slot: number,
    readonly gathering: Gathering,
  ) {}

  run(): void {
    const { state, value, gathering } = this;
    if (state === REJECTED) return gathering.reject(value);
    gathering.values[this.slot] = value;
    gathering.done();
  }
}

class AllSettled extends All {
  override run(): void {
    const { state, value, gathering } = this;
    gathering.values[this.slot] = state === FULFILLED ? { status: 'fulfilled', value } : { status: 'rejected', reason: value };
    gathering.done();
  }
}

/** Promises of which the first decides. */
class Race {
  isOver = false;
  readonly #win: (value: unknown) => void;

  constructor(win: (value: unknown) => void) {
    this.#win = this.ending(win);
  }

  ending(act: (value: unknown) => void): (value: unknown) => void {
    return (value) => {
      this.isOver = true;
      act(value);
    };
  }

  add(promise: any, fail: (reason: unknown) => void): void {
    if (isOwn(promise) && promise.then === ownThen) react(promise, new Racer(this, this.#win, fail));
    else promise.then(this.#win, fail);
  }
}

class Racer implements Reaction {
  declare state: State;
  declare value: any;

  constructor(
    readonly race: Race,
    readonly win: (value: unknown) => void,
    readonly fail: (reason: unknown) => void,
  ) {}

  run(): void {
    if (this.state === FULFILLED) this.win(this.value);
    else this.fail(this.value);
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
  else settleAs(next, REJECTED, reason);
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
    else settleAs(this.next, REJECTED, this.value);
  }
}

/** The async function that runs now. */
let current: Coroutine | undefined;

/** Those that have said where they wait, and have not ended. */
const placed = new Set<Coroutine>();

/** An async function that runs: it continues when the value is settled for which it waits. */
class Coroutine implements Reaction {
  declare state: State;
  declare value: any;
  /** The stack of its last `await` that says it. */
  declare place: string | undefined;
  declare steps: Iterator<unknown>;
  declare promise: QueuedPromise<any>;

  constructor(steps: Iterator<unknown>, promise: QueuedPromise<any>) {
    this.state = FULFILLED;
    this.value = undefined;
    this.place = undefined;
    this.steps = steps;
    this.promise = promise;
  }

  run(): void {
    const outer = current;
    current = this;
    try {
      const { done, value } = this.state === FULFILLED ? this.steps.next(this.value) : this.steps.throw!(this.value);
      current = outer;
      if (!done) return whenSettled(value, this);
      resolve(this.promise, value);
    } catch (error) {
      current = outer;
      settleAs(this.promise, REJECTED, error);
    }
    if (this.place !== undefined) placed.delete(this);
  }
}

/** Says the stack of an `await` of the function that runs. Returns what it waits for. */
export function placeAwait<T>(value: T, stack: string): T {
  if (current) {
    if (current.place === undefined) placed.add(current);
    current.place = stack;
  }
  return value;
}

/** Where async functions wait: those that wait for another one of them are left out, and those that nothing needs any more. */
export function placesOfAwaits(): string[] {
  const functions = [...placed];
  const outer = new Set(functions.flatMap(({ promise }) => functionsAfter(promise)));
  return functions.filter((each) => !outer.has(each) && !isLeft(each.promise)).map(({ place }) => place!);
}

/** Whether nothing has waited for a promise. */
export function isUnawaited(promise: unknown): boolean {
  return promise instanceof QueuedPromise && !isHandled(promise);
}

/** Whether a promise is pending, and something may wait for it yet. */
export function isRunning(promise: unknown): boolean {
  return promise instanceof QueuedPromise && reactionsTo(promise) !== undefined && !isLeft(promise);
}

/** Whether only races wait for a promise that another one has decided. */
function isLeft(promise: unknown): boolean {
  const reactions = (promise instanceof QueuedPromise && reactionsTo(promise)) || [];
  return reactions.length > 0 && reactions.every((reaction) => (reaction instanceof Racer ? reaction.race.isOver : isLeft(promiseAfter(reaction))));
}

/** Returns the functions that wait for a promise, also through other promises. */
function functionsAfter(promise: unknown): Coroutine[] {
  const reactions = (promise instanceof QueuedPromise && reactionsTo(promise)) || [];
  return reactions.flatMap((reaction) => (reaction instanceof Coroutine ? [reaction] : functionsAfter(promiseAfter(reaction))));
}

/** Returns the promise that a reaction settles. */
function promiseAfter(reaction: Reaction): unknown {
  if (reaction instanceof Coroutine) return reaction.promise;
  if (reaction instanceof All) return reaction.gathering.promise;
  return reaction instanceof Handlers || reaction instanceof Adoption ? reaction.next : undefined;
}

/** Runs an async function that was compiled to a generator. The bundler puts it in place of esbuild's `__async`. */
export function runAsyncFunction(self: unknown, args: ArrayLike<any>, start: (...args: any[]) => Iterator<unknown>): unknown {
  const promise = new QueuedPromise<any>(INTERNAL);
  try {
    new Coroutine(start.apply(self, args as any[]), promise).run();
  } catch (error) {
    settleAs(promise, REJECTED, error);
  }
  return promise;
}

/** Returns a promise that `fulfil` or `refuse` settles. It costs less than one with an executor. */
export function pendingPromise(): Promise<unknown> {
  return new QueuedPromise<unknown>(INTERNAL) as unknown as Promise<unknown>;
}

/** Settles a pending promise with a value that is no promise. What waits for it runs now, unless something else is to run before. */
export function fulfil(promise: object, value: unknown): void {
  settleAs(promise as QueuedPromise<any>, FULFILLED, value, isIdle() ? runWith : enqueueWith);
}

export function refuse(promise: object, reason: unknown): void {
  settleAs(promise as QueuedPromise<any>, REJECTED, reason);
}

export { QueuedPromise };

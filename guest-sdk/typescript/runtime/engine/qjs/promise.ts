/**
 * `Promise` over our own queue.
 *
 * QuickJS runs its own promises' reactions only when its host asks, and nothing asks during a
 * synchronous export. So async functions are compiled to generators over this class, and `settle`
 * runs its queue.
 */
import { enqueue, forgetRejection, noteRejection } from './queue';

type Resolve<T> = (value?: T | PromiseLike<T>) => void;
type Reject = (reason?: unknown) => void;
type Executor<T> = (resolve: Resolve<T>, reject: Reject) => void;

class QueuedPromise<T> {
  #state: 'pending' | 'fulfilled' | 'rejected' = 'pending';
  #value: any;
  #handled = false;
  #reactions: (() => void)[] = [];

  constructor(executor: Executor<T>) {
    if (typeof executor !== 'function') {
      throw new TypeError(`Promise resolver ${String(executor)} is not a function`);
    }
    const { resolve, reject } = this.#resolvers();
    try {
      executor(resolve, reject);
    } catch (error) {
      reject(error);
    }
  }

  /** The pair of functions of which the first call counts. */
  #resolvers(): { resolve: Resolve<T>; reject: Reject } {
    let decided = false;
    const once = (act: (value: any) => void) => (value?: any) => {
      if (decided) return;
      decided = true;
      act(value);
    };
    return {
      resolve: once((value) => this.#resolve(value)),
      reject: once((reason) => this.#settle('rejected', reason)),
    };
  }

  #resolve(value: any): void {
    if (value === this) {
      this.#settle('rejected', new TypeError('Chaining cycle detected for promise'));
      return;
    }
    if ((typeof value !== 'object' || value === null) && typeof value !== 'function') {
      this.#settle('fulfilled', value);
      return;
    }
    let then: unknown;
    try {
      then = value.then;
    } catch (error) {
      this.#settle('rejected', error);
      return;
    }
    if (typeof then !== 'function') {
      this.#settle('fulfilled', value);
      return;
    }
    enqueue(() => {
      const { resolve, reject } = this.#resolvers();
      try {
        (then as Function).call(value, resolve, reject);
      } catch (error) {
        reject(error);
      }
    });
  }

  #settle(state: 'fulfilled' | 'rejected', value: unknown): void {
    this.#state = state;
    this.#value = value;
    if (state === 'rejected' && !this.#handled) noteRejection(this, value);
    for (const reaction of this.#reactions) enqueue(reaction);
    this.#reactions = [];
  }

  then(onFulfilled?: unknown, onRejected?: unknown): any {
    const Species = (this.constructor as any)?.[Symbol.species] ?? QueuedPromise;
    let resolve!: Resolve<any>;
    let reject!: Reject;
    const next = new Species((yes: Resolve<any>, no: Reject) => {
      resolve = yes;
      reject = no;
    });
    const reaction = () => {
      const handler = this.#state === 'fulfilled' ? onFulfilled : onRejected;
      if (typeof handler !== 'function') {
        (this.#state === 'fulfilled' ? resolve : reject)(this.#value);
        return;
      }
      let result;
      try {
        result = handler(this.#value);
      } catch (error) {
        reject(error);
        return;
      }
      resolve(result);
    };
    if (this.#state === 'pending') this.#reactions.push(reaction);
    else enqueue(reaction);
    if (this.#state === 'rejected' && !this.#handled) forgetRejection(this);
    this.#handled = true;
    return next;
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
export { QueuedPromise };

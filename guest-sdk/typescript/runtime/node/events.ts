/** `node:events`: the package `events`, and what Node has beside. */
import events from 'events';

type Listener = (...args: any[]) => unknown;

const errorMonitor = Symbol.for('nodejs.errorMonitor');
const captureRejectionSymbol = Symbol.for('nodejs.rejection');

const EventEmitter = events as any;
const { emit } = EventEmitter.prototype;

/** As the package, with listeners that see errors before they are handled. */
EventEmitter.prototype.emit = function (this: any, type: PropertyKey, ...args: unknown[]): boolean {
  if (type === 'error' && this.listenerCount(errorMonitor) > 0) emit.call(this, errorMonitor, ...args);
  return emit.call(this, type, ...args);
};

const once = EventEmitter.once as (emitter: any, name: PropertyKey) => Promise<unknown[]>;

function isTarget(emitter: any): emitter is EventTarget {
  return typeof emitter?.addEventListener === 'function' && typeof emitter.on !== 'function';
}

function listen(emitter: any, name: PropertyKey, listener: Listener): () => void {
  if (isTarget(emitter)) {
    emitter.addEventListener(String(name), listener);
    return () => emitter.removeEventListener(String(name), listener);
  }
  emitter.on(name, listener);
  return () => emitter.off(name, listener);
}

interface Options {
  signal?: AbortSignal;
  close?: PropertyKey[];
}

function abortError(signal: AbortSignal): Error {
  return Object.assign(new Error('The operation was aborted', { cause: signal.reason }), { name: 'AbortError', code: 'ABORT_ERR' });
}

Object.assign(EventEmitter, {
  EventEmitter,
  errorMonitor,
  captureRejectionSymbol,
  captureRejections: false,
  usingDomains: false,

  once(emitter: any, name: PropertyKey, { signal }: Options = {}): Promise<unknown[]> {
    if (signal?.aborted) return Promise.reject(abortError(signal));
    if (!signal) return once(emitter, name);
    return new Promise((resolve, reject) => {
      const stop = () => reject(abortError(signal));
      signal.addEventListener('abort', stop, { once: true });
      once(emitter, name)
        .then(resolve, reject)
        .finally(() => signal.removeEventListener('abort', stop));
    });
  },

  /** Iterates over the events of a name. */
  on(emitter: any, name: PropertyKey, { signal, close = [] }: Options = {}): AsyncIterableIterator<unknown[]> {
    if (signal?.aborted) throw abortError(signal);
    const events: unknown[][] = [];
    const waiting: { resolve(step: IteratorResult<unknown[]>): void; reject(error: unknown): void }[] = [];
    let failure: { error: unknown } | undefined;
    let isDone = false;
    const ends = [
      listen(emitter, name, (...args) => {
        const next = waiting.shift();
        if (next) next.resolve({ value: args, done: false });
        else events.push(args);
      }),
      ...(name === 'error' || isTarget(emitter) ? [] : [listen(emitter, 'error', fail)]),
      ...close.map((each) => listen(emitter, each, end)),
    ];
    const stop = () => fail(abortError(signal!));
    signal?.addEventListener('abort', stop, { once: true });

    function release(): void {
      isDone = true;
      for (const each of ends) each();
      signal?.removeEventListener('abort', stop);
    }
    function fail(error: unknown): void {
      release();
      const next = waiting.shift();
      if (next) next.reject(error);
      else failure = { error };
    }
    function end(): void {
      release();
      for (const next of waiting.splice(0)) next.resolve({ value: undefined, done: true });
    }
    return {
      next() {
        const value = events.shift();
        if (value) return Promise.resolve({ value, done: false });
        if (failure) {
          const { error } = failure;
          failure = undefined;
          return Promise.reject(error);
        }
        if (isDone) return Promise.resolve({ value: undefined, done: true });
        return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
      },
      return() {
        end();
        return Promise.resolve({ value: undefined, done: true });
      },
      throw(error) {
        fail(error);
        return Promise.resolve({ value: undefined, done: true });
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  },

  getEventListeners: (emitter: any, name: PropertyKey) => emitter.listeners?.(name) ?? [],
  getMaxListeners: (emitter: any) => emitter.getMaxListeners?.() ?? EventEmitter.defaultMaxListeners,
  listenerCount: (emitter: any, name: PropertyKey) => emitter.listenerCount(name),

  setMaxListeners(count = EventEmitter.defaultMaxListeners, ...emitters: any[]) {
    if (emitters.length === 0) EventEmitter.defaultMaxListeners = count;
    for (const emitter of emitters) emitter.setMaxListeners?.(count);
  },

  addAbortListener(signal: AbortSignal, listener: Listener) {
    if (signal.aborted) queueMicrotask(() => listener());
    else signal.addEventListener('abort', listener, { once: true });
    return { [Symbol.dispose]: () => signal.removeEventListener('abort', listener) };
  },
});

/** An emitter whose listeners run as part of a resource: here, as any listener. */
class EventEmitterAsyncResource extends EventEmitter {}
Object.assign(EventEmitter, { EventEmitterAsyncResource });

export default EventEmitter;

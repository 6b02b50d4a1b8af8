/** `AbortController` and `AbortSignal`. */
import { define } from './define';
import './dom-exception';
import './event-target';

const SECRET = Symbol('AbortSignal');

/** Aborts a signal once. */
let abort: (signal: Signal, reason: unknown) => void;

class Signal extends EventTarget {
  #aborted = false;
  #reason: unknown;
  #onabort: ((event: Event) => unknown) | null = null;
  /** Signals of `any` that depend on this one. */
  #dependents: Signal[] = [];

  constructor(secret?: unknown) {
    super();
    if (secret !== SECRET) throw new TypeError('Illegal constructor');
  }

  static {
    abort = (signal, reason) => {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
      signal.dispatchEvent(new Event('abort'));
      for (const dependent of signal.#dependents) abort(dependent, signal.#reason);
      signal.#dependents = [];
    };
  }

  static abort(reason?: unknown): Signal {
    const signal = new Signal(SECRET);
    abort(signal, reason);
    return signal;
  }

  static timeout(ms: number): Signal {
    if (!(ms >= 0)) throw new RangeError(`The value of "delay" is out of range: ${ms}`);
    const signal = new Signal(SECRET);
    setTimeout(() => abort(signal, new DOMException('The operation was aborted due to timeout', 'TimeoutError')), ms);
    return signal;
  }

  static any(signals: Iterable<Signal>): Signal {
    const any = new Signal(SECRET);
    const sources = [...signals];
    const aborted = sources.find((each) => each.aborted);
    if (aborted) abort(any, aborted.reason);
    else for (const source of sources) source.#dependents.push(any);
    return any;
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  get onabort(): ((event: Event) => unknown) | null {
    return this.#onabort;
  }

  set onabort(listener: ((event: Event) => unknown) | null) {
    if (this.#onabort) this.removeEventListener('abort', this.#onabort);
    this.#onabort = typeof listener === 'function' ? listener : null;
    if (this.#onabort) this.addEventListener('abort', this.#onabort);
  }

  get [Symbol.toStringTag](): string {
    return 'AbortSignal';
  }
}

Object.defineProperty(Signal, 'name', { value: 'AbortSignal' });

class AbortController {
  readonly signal = new Signal(SECRET);

  abort(reason?: unknown): void {
    abort(this.signal, reason);
  }

  get [Symbol.toStringTag](): string {
    return 'AbortController';
  }
}

define({ AbortController, AbortSignal: Signal });

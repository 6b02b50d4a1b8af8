/** `EventTarget`, `Event` and `CustomEvent`. */
import { define } from './define';

interface EventInit {
  bubbles?: boolean;
  cancelable?: boolean;
  composed?: boolean;
}

/** Sets the target of an event whose listeners are about to run; null once they have run. */
let begin: (event: Event, target: object | null) => void;
let isStopped: (event: Event) => boolean;
let setPassive: (event: Event, passive: boolean) => void;

class Event {
  static readonly NONE = 0;
  static readonly CAPTURING_PHASE = 1;
  static readonly AT_TARGET = 2;
  static readonly BUBBLING_PHASE = 3;
  readonly type: string;
  readonly bubbles: boolean;
  readonly cancelable: boolean;
  readonly composed: boolean;
  readonly isTrusted = false;
  readonly timeStamp = performance.now();
  cancelBubble = false;
  #target: object | null = null;
  #isRunning = false;
  #defaultPrevented = false;
  #stopped = false;
  #passive = false;

  constructor(type: string, init: EventInit = {}) {
    if (arguments.length === 0) throw new TypeError('The "type" argument must be specified');
    this.type = String(type);
    this.bubbles = Boolean(init?.bubbles);
    this.cancelable = Boolean(init?.cancelable);
    this.composed = Boolean(init?.composed);
  }

  static {
    begin = (event, target) => {
      event.#isRunning = target !== null;
      if (target === null) return;
      event.#target = target;
      event.#stopped = false;
    };
    isStopped = (event) => event.#stopped;
    setPassive = (event, passive) => {
      event.#passive = passive;
    };
  }

  get target(): object | null {
    return this.#target;
  }

  get srcElement(): object | null {
    return this.#target;
  }

  get currentTarget(): object | null {
    return this.#isRunning ? this.#target : null;
  }

  get eventPhase(): number {
    return this.#isRunning ? Event.AT_TARGET : Event.NONE;
  }

  get defaultPrevented(): boolean {
    return this.#defaultPrevented;
  }

  get returnValue(): boolean {
    return !this.#defaultPrevented;
  }

  composedPath(): object[] {
    return this.#isRunning && this.#target ? [this.#target] : [];
  }

  preventDefault(): void {
    if (this.cancelable && !this.#passive) this.#defaultPrevented = true;
  }

  stopPropagation(): void {
    this.cancelBubble = true;
  }

  stopImmediatePropagation(): void {
    this.cancelBubble = true;
    this.#stopped = true;
  }

  get [Symbol.toStringTag](): string {
    return 'Event';
  }
}

class CustomEvent<T> extends Event {
  readonly detail: T | null;

  constructor(type: string, init: EventInit & { detail?: T } = {}) {
    super(type, init);
    this.detail = init?.detail ?? null;
  }

  override get [Symbol.toStringTag](): string {
    return 'CustomEvent';
  }
}

type Listener = ((event: Event) => unknown) | { handleEvent(event: Event): unknown };

interface Registration {
  listener: Listener;
  capture: boolean;
  once: boolean;
  passive: boolean;
  removed: boolean;
}

interface Options {
  capture?: boolean;
  once?: boolean;
  passive?: boolean;
  signal?: AbortSignal;
}

class EventTarget {
  #listeners = new Map<string, Registration[]>();

  addEventListener(type: string, listener: Listener | null, options: Options | boolean = {}): void {
    const { capture = false, once = false, passive = false, signal } = typeof options === 'boolean' ? { capture: options } : (options ?? {});
    if (listener === null || listener === undefined || signal?.aborted) return;
    const listeners = this.#listeners.get(String(type)) ?? [];
    if (listeners.some((each) => each.listener === listener && each.capture === capture)) return;
    this.#listeners.set(String(type), [...listeners, { listener, capture, once, passive, removed: false }]);
    signal?.addEventListener('abort', () => this.removeEventListener(type, listener, options), { once: true });
  }

  removeEventListener(type: string, listener: Listener | null, options: Options | boolean = {}): void {
    const capture = typeof options === 'boolean' ? options : (options?.capture ?? false);
    const listeners = this.#listeners.get(String(type)) ?? [];
    const kept = listeners.filter((each) => {
      const isIt = each.listener === listener && each.capture === capture;
      if (isIt) each.removed = true;
      return !isIt;
    });
    this.#listeners.set(String(type), kept);
  }

  dispatchEvent(event: Event): boolean {
    if (!(event instanceof Event)) throw new TypeError('The "event" argument must be an instance of Event');
    begin(event, this);
    for (const each of this.#listeners.get(event.type) ?? []) {
      if (each.removed) continue;
      if (each.once) this.removeEventListener(event.type, each.listener, each.capture);
      setPassive(event, each.passive);
      try {
        if (typeof each.listener === 'function') each.listener.call(this, event);
        else each.listener.handleEvent(event);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
      if (isStopped(event)) break;
    }
    begin(event, null);
    setPassive(event, false);
    return !event.defaultPrevented;
  }

  get [Symbol.toStringTag](): string {
    return 'EventTarget';
  }
}

define({ Event, CustomEvent, EventTarget });

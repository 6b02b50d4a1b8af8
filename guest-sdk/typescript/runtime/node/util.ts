/** `node:util`. */
import { dequal } from 'dequal';
import { CUSTOM, format, inspect } from '../format';
import { parseArgs } from './parse-args';
import { types } from './util-types';

type Callback = (error: unknown, value?: unknown) => void;

const customPromisify = Symbol.for('nodejs.util.promisify.custom');

function promisify(act: ((...args: any[]) => unknown) & { [customPromisify]?: unknown }): unknown {
  if (typeof act !== 'function') throw Object.assign(new TypeError('The "original" argument must be of type function'), { code: 'ERR_INVALID_ARG_TYPE' });
  if (act[customPromisify]) return act[customPromisify];
  const promised = function (this: unknown, ...args: unknown[]) {
    return new Promise((resolve, reject) => {
      act.call(this, ...args, (error: unknown, value: unknown) => (error ? reject(error) : resolve(value)));
    });
  };
  return Object.defineProperties(promised, { name: { value: act.name }, length: { value: Math.max(0, act.length - 1) } });
}
promisify.custom = customPromisify;

function callbackify(act: (...args: any[]) => Promise<unknown>): (...args: any[]) => void {
  return function (this: unknown, ...args) {
    const callback = args.pop() as Callback;
    act.apply(this, args).then(
      (value) => queueMicrotask(() => callback(null, value)),
      (error) => queueMicrotask(() => callback(error)),
    );
  };
}

function inherits(child: Function, parent: Function): void {
  Object.defineProperty(child, 'super_', { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(child.prototype, parent.prototype);
}

const warned = new Set<string>();

/** Returns the function, which writes a warning to the log when it is called first. */
function deprecate<A extends unknown[], R>(act: (...args: A) => R, message: string, code = ''): (...args: A) => R {
  return function (this: unknown, ...args) {
    const key = code || message;
    if (!warned.has(key)) console.warn(`DeprecationWarning: ${message}`);
    warned.add(key);
    return act.apply(this, args);
  };
}

/** Writes nothing: `NODE_DEBUG` is not set. */
function debuglog(): ((...args: unknown[]) => void) & { enabled: boolean } {
  return Object.assign(() => {}, { enabled: false });
}

function stripVTControlCharacters(text: string): string {
  return text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, '');
}

/** Resolves when the signal is aborted. */
function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

export default {
  aborted,
  callbackify,
  debug: debuglog,
  debuglog,
  deprecate,
  format,
  formatWithOptions: (_: object, ...args: unknown[]) => format(...args),
  inherits,
  inspect: Object.assign((value: unknown, options?: object) => inspect(value, options), { custom: CUSTOM, defaultOptions: {}, colors: {}, styles: {} }),
  isArray: Array.isArray,
  isDeepStrictEqual: dequal,
  parseArgs,
  promisify,
  stripVTControlCharacters,
  /** The log has no colours. */
  styleText: (_: unknown, text: string) => text,
  toUSVString: (text: string) => String(text).toWellFormed(),
  types,
  TextEncoder,
  TextDecoder,
};

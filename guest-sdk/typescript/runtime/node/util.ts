/** The basics of `node:util`. */
import { dequal } from 'dequal';
import { format, inspect } from '../format';

type Callback = (error: unknown, value?: unknown) => void;

function promisify(act: (...args: any[]) => unknown): (...args: any[]) => Promise<unknown> {
  return function (this: unknown, ...args) {
    return new Promise((resolve, reject) => {
      act.call(this, ...args, (error: unknown, value: unknown) => (error ? reject(error) : resolve(value)));
    });
  };
}

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
  Object.setPrototypeOf(child.prototype, parent.prototype);
}

function deprecate<T>(act: T): T {
  return act;
}

const types = {
  isPromise: (value: unknown) => value instanceof Promise,
  isDate: (value: unknown) => value instanceof Date,
  isRegExp: (value: unknown) => value instanceof RegExp,
  isNativeError: (value: unknown) => value instanceof Error,
  isUint8Array: (value: unknown) => value instanceof Uint8Array,
  isTypedArray: (value: unknown) => ArrayBuffer.isView(value) && !(value instanceof DataView),
};

export default {
  format,
  inspect,
  promisify,
  callbackify,
  inherits,
  deprecate,
  types,
  isDeepStrictEqual: dequal,
  stripVTControlCharacters: (text: string) => text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, ''),
  TextEncoder,
  TextDecoder,
};

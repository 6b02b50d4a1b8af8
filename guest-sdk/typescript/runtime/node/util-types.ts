/** `util.types`: what a value is, by what the engine says. */

const tagOf = (value: unknown) => Object.prototype.toString.call(value).slice(8, -1);

/** Returns a test for objects of a class. */
const isA = (name: string) => (value: unknown) => {
  const Class = (globalThis as Record<string, unknown>)[name];
  return typeof Class === 'function' && value instanceof Class;
};

const typed = 'Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float32Array Float64Array BigInt64Array BigUint64Array';
const classes = 'Date RegExp Map Set WeakMap WeakSet Promise ArrayBuffer SharedArrayBuffer DataView';

/** The original value of an object made by `Object(1)`. */
const isBoxed = (type?: string) => (value: any) =>
  typeof value === 'object' && value !== null && ['Number', 'String', 'Boolean', 'Symbol', 'BigInt'].some((name) => (!type || name === type) && isA(name)(value));

export const types: Record<string, (value: any) => boolean> = {
  ...Object.fromEntries(`${typed} ${classes}`.split(' ').map((name) => [`is${name}`, isA(name)])),
  isAnyArrayBuffer: (value) => isA('ArrayBuffer')(value) || isA('SharedArrayBuffer')(value),
  isArgumentsObject: (value) => tagOf(value) === 'Arguments',
  isArrayBufferView: ArrayBuffer.isView,
  isAsyncFunction: (value) => typeof value === 'function' && tagOf(value) === 'AsyncFunction',
  isBigIntObject: isBoxed('BigInt'),
  isBooleanObject: isBoxed('Boolean'),
  isBoxedPrimitive: isBoxed(),
  isExternal: () => false,
  isGeneratorFunction: (value) => typeof value === 'function' && /GeneratorFunction$/.test(tagOf(value)),
  isGeneratorObject: (value) => tagOf(value) === 'Generator',
  isMapIterator: (value) => tagOf(value) === 'Map Iterator',
  isModuleNamespaceObject: (value) => tagOf(value) === 'Module',
  isNativeError: isA('Error'),
  isNumberObject: isBoxed('Number'),
  isProxy: () => false,
  isSetIterator: (value) => tagOf(value) === 'Set Iterator',
  isStringObject: isBoxed('String'),
  isSymbolObject: isBoxed('Symbol'),
  isTypedArray: (value) => ArrayBuffer.isView(value) && !(value instanceof DataView),
};

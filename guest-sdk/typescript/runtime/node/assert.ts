/** `node:assert`. Deep comparisons are strict. */
import { dequal } from 'dequal';
import { inspect } from '../format';

type Message = string | Error | undefined;

export class AssertionError extends Error {
  override readonly name = 'AssertionError';
  readonly code = 'ERR_ASSERTION';
  readonly actual: unknown;
  readonly expected: unknown;
  readonly operator: string | undefined;

  constructor(options: { message?: string; actual?: unknown; expected?: unknown; operator?: string }) {
    const { actual, expected, operator } = options;
    super(options.message ?? `Expected ${operator}: ${inspect(actual)}, ${inspect(expected)}`);
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
  }
}

function check(passed: boolean, operator: string, actual: unknown, expected: unknown, message: Message): void {
  if (passed) return;
  if (message instanceof Error) throw message;
  throw new AssertionError({ message, actual, expected, operator });
}

function assert(value: unknown, message?: Message): void {
  check(Boolean(value), 'ok', value, true, message ?? `The expression evaluated to a falsy value: ${inspect(value)}`);
}

function strictEqual(actual: unknown, expected: unknown, message?: Message): void {
  check(Object.is(actual, expected), 'strictEqual', actual, expected, message);
}

function notStrictEqual(actual: unknown, expected: unknown, message?: Message): void {
  check(!Object.is(actual, expected), 'notStrictEqual', actual, expected, message);
}

function deepStrictEqual(actual: unknown, expected: unknown, message?: Message): void {
  check(dequal(actual, expected), 'deepStrictEqual', actual, expected, message);
}

function notDeepStrictEqual(actual: unknown, expected: unknown, message?: Message): void {
  check(!dequal(actual, expected), 'notDeepStrictEqual', actual, expected, message);
}

/** As `==`, and NaN equals itself. */
function isLooselyEqual(actual: unknown, expected: unknown): boolean {
  return actual == expected || (Number.isNaN(actual) && Number.isNaN(expected));
}

function equal(actual: unknown, expected: unknown, message?: Message): void {
  check(isLooselyEqual(actual, expected), '==', actual, expected, message);
}

function notEqual(actual: unknown, expected: unknown, message?: Message): void {
  check(!isLooselyEqual(actual, expected), '!=', actual, expected, message);
}

function doesNotMatch(text: string, pattern: RegExp, message?: Message): void {
  check(!pattern.test(text), 'doesNotMatch', text, pattern, message);
}

function ifError(value: unknown): void {
  if (value !== undefined && value !== null) throw value;
}

function doesNotThrow(act: () => unknown): void {
  act();
}

async function doesNotReject(act: PromiseLike<unknown> | (() => PromiseLike<unknown>)): Promise<void> {
  await (typeof act === 'function' ? act() : act);
}

function match(text: string, pattern: RegExp, message?: Message): void {
  check(pattern.test(text), 'match', text, pattern, message);
}

function fail(message: Message = 'Failed'): never {
  if (message instanceof Error) throw message;
  throw new AssertionError({ message, operator: 'fail' });
}

/** Whether an error is the expected one: a pattern, a class, or an object of fields. */
function fits(error: any, expected: unknown): boolean {
  if (expected === undefined || typeof expected === 'string') return true;
  if (expected instanceof RegExp) return expected.test(String(error));
  if (typeof expected === 'function') {
    return expected.prototype && error instanceof expected ? true : expected === Error ? false : Boolean(expected(error));
  }
  return Object.entries(expected as object).every(([key, value]) =>
    value instanceof RegExp ? value.test(String(error?.[key])) : dequal(error?.[key], value),
  );
}

function throws(act: () => unknown, expected?: unknown, message?: Message): void {
  try {
    act();
  } catch (error) {
    check(fits(error, expected), 'throws', error, expected, message);
    return;
  }
  fail(message ?? 'Missing expected exception');
}

async function rejects(act: PromiseLike<unknown> | (() => PromiseLike<unknown>), expected?: unknown, message?: Message): Promise<void> {
  try {
    await (typeof act === 'function' ? act() : act);
  } catch (error) {
    check(fits(error, expected), 'rejects', error, expected, message);
    return;
  }
  fail(message ?? 'Missing expected rejection');
}

const common = {
  AssertionError,
  ok: assert,
  deepEqual: deepStrictEqual,
  notDeepEqual: notDeepStrictEqual,
  strictEqual,
  notStrictEqual,
  deepStrictEqual,
  notDeepStrictEqual,
  doesNotMatch,
  doesNotReject,
  doesNotThrow,
  fail,
  ifError,
  match,
  rejects,
  throws,
};

const strict = Object.assign((value: unknown, message?: Message) => assert(value, message), common, { equal: strictEqual, notEqual: notStrictEqual });

export default Object.assign(assert, common, { equal, notEqual, strict: Object.assign(strict, { strict }) });

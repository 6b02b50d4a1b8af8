// Type → schema → call: what a handler declares is what a model is told, and how its arguments arrive.
import assert from 'node:assert';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { TOOLHOST, build, lay, needsHost, run, sources } from './toolhost.mjs';

/** Declarations that the types below name. */
const DECLARATIONS = `
import type { Integer, JsonValue } from 'toolhost';
import type { Unit } from './units';
/** A place on Earth. */
interface Point { /** Degrees north. */ lat: number; lon: number }
interface Named { name: string }
interface City extends Named, Point { readonly people?: Integer }
interface Tree { at: Date; children?: Tree[] }
interface Page<T> { items: T[]; next?: string }
enum Level { Low = 'low', High = 'high' }
enum Code { Ok = 200, Gone = 410 }
type Shape = { kind: 'circle'; radius: number } | { kind: 'square'; side: number; since: Date };
/** A port. @minimum 1 @maximum 65535 @integer */
type Port = number;
type Id = string & { readonly __brand: 'Id' };
type Expression = number | Expression[];
class Money { constructor(public amount: string, public currency: 'EUR' | 'USD') {} }
class Safe { #code = 1; private open = false; }
const LEVELS = ['a', 'b'] as const;
`;

const POINT = { description: 'A place on Earth.', type: 'object', properties: { lat: { type: 'number', description: 'Degrees north.' }, lon: { type: 'number' } }, required: ['lat', 'lon'], additionalProperties: false };
const TEXT = { type: 'string' };
const DATE = { type: 'string', format: 'date-time' };
const record = (properties, required = Object.keys(properties)) => ({ type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false });

/** What cannot be: a value for which the host refuses the call. Absent, the property is left out. */
const ANYTHING = Symbol('no value is refused');

/** Each: the property, its schema, a value that is taken, how it arrives, and one that is refused. */
const SHAPES = {
  text: ['v: string', TEXT, 'a', '"a"', 1],
  optional: ['v?: string', TEXT, undefined, 'undefined', 1],
  nullable: ['v: string | null', { type: ['string', 'null'] }, null, 'null', 1],
  'optional-and-nullable': ['v?: string | null', { type: ['string', 'null'] }, null, 'null', 1],
  'union-of-scalars': ['v: string | number', { anyOf: [TEXT, { type: 'number' }] }, 1.5, '1.5', true],
  'discriminated-union': [
    'v: Shape',
    { anyOf: [record({ kind: { type: 'string', const: 'circle' }, radius: { type: 'number' } }), record({ kind: { type: 'string', const: 'square' }, side: { type: 'number' }, since: DATE })] },
    { kind: 'square', side: 2, since: '2026-01-31T12:00:00Z' },
    '{kind: "square", side: 2, since: Date 2026-01-31T12:00:00.000Z}',
    { kind: 'square', radius: 1 },
  ],
  nested: ['v: { a: { b: boolean } }', record({ a: record({ b: { type: 'boolean' } }) }), { a: { b: true } }, '{a: {b: true}}', { a: {} }],
  list: ['v: readonly string[]', { type: 'array', items: TEXT }, ['a'], '["a"]', [1]],
  set: ['v: Set<string>', { type: 'array', items: TEXT, uniqueItems: true }, ['a', 'b'], 'Set ["a", "b"]', ['a', 'a']],
  tuple: ['v: [string, Date?]', { type: 'array', prefixItems: [TEXT, DATE], minItems: 1, maxItems: 2 }, ['a', '2026-01-31T12:00:00Z'], '["a", Date 2026-01-31T12:00:00.000Z]', []],
  'tuple-with-rest': ['v: [string, ...number[]]', { type: 'array', prefixItems: [TEXT], minItems: 1, items: { type: 'number' } }, ['a', 1, 2], '["a", 1, 2]', ['a', 'b']],
  record: ['v: Record<string, number>', { type: 'object', additionalProperties: { type: 'number' } }, { a: 1 }, '{a: 1}', { a: 'b' }],
  map: ['v: Map<string, Date>', { type: 'object', additionalProperties: DATE }, { a: '2026-01-31T12:00:00Z' }, 'Map [["a", Date 2026-01-31T12:00:00.000Z]]', { a: 1 }],
  'enum-of-texts': ['v: Level', { type: 'string', enum: ['low', 'high'] }, 'low', '"low"', 'mid'],
  'enum-of-integers': ['v: Code', { type: 'integer', enum: [200, 410] }, 410, '410', 404],
  'union-of-literals': ['v?: "a" | "b" | null', { type: ['string', 'null'], enum: ['a', 'b', null] }, 'b', '"b"', 'c'],
  'values-of-a-list': ['v: (typeof LEVELS)[number]', { type: 'string', enum: ['a', 'b'] }, 'a', '"a"', 'c'],
  literal: ['v: 7', { type: 'integer', const: 7 }, 7, '7', 8],
  'default-text': ['/** @default "a" */ v?: string', { ...TEXT, default: 'a' }, undefined, '"a"', 1],
  'default-number': ['/** @default 3 */ v?: number', { type: 'number', default: 3 }, undefined, '3', 'x'],
  'default-boolean': ['/** @default true */ v?: boolean', { type: 'boolean', default: true }, undefined, 'true', 'x'],
  'default-list': ['/** @default ["a"] */ v?: string[]', { type: 'array', items: TEXT, default: ['a'] }, undefined, '["a"]', 'x'],
  day: ['/** @format date */ v: string', { ...TEXT, format: 'date' }, '2026-01-31', '"2026-01-31"', 1],
  time: ['/** @format time */ v: string', { ...TEXT, format: 'time' }, '12:00:00Z', '"12:00:00Z"', 1],
  'date-time': ['v: Date', DATE, '2026-01-31T12:00:00Z', 'Date 2026-01-31T12:00:00.000Z', 1],
  'nullable-date': ['v: Date | null', { type: ['string', 'null'], format: 'date-time' }, null, 'null', 1],
  duration: ['/** @format duration */ v: string', { ...TEXT, format: 'duration' }, 'PT1H', '"PT1H"', 1],
  uuid: ['/** @format uuid */ v: string', { ...TEXT, format: 'uuid' }, '9a7f2b1c-0d3e-4f5a-8b6c-7d8e9f0a1b2c', '"9a7f2b1c-0d3e-4f5a-8b6c-7d8e9f0a1b2c"', 1],
  url: ['v: URL', { ...TEXT, format: 'uri' }, 'https://example.com/a', 'URL https://example.com/a', 1],
  bytes: ['v: Uint8Array', { ...TEXT, contentEncoding: 'base64' }, 'aGk=', 'Uint8Array [104, 105]', 1],
  decimal: ['/** @pattern ^-?[0-9]+(\\.[0-9]+)?$ */ v: string', { ...TEXT, pattern: '^-?[0-9]+(\\.[0-9]+)?$' }, '0.10', '"0.10"', 'x'],
  'bounded-number': ['/** @exclusiveMinimum 0 @maximum 1 */ v: number', { type: 'number', exclusiveMinimum: 0, maximum: 1 }, 0.5, '0.5', 0],
  'bounded-text': ['/** @minLength 2 @maxLength 3 */ v: string', { ...TEXT, minLength: 2, maxLength: 3 }, 'ab', '"ab"', 'a'],
  alias: ['v: Port', { type: 'integer', minimum: 1, maximum: 65535, description: 'A port.' }, 80, '80', 0],
  'integer-of-64-bits': ['v: bigint', { type: 'integer' }, 9223372036854775807n, '9223372036854775807n', 1.5],
  float: ['v: number', { type: 'number' }, 1e-7, '1e-7', 'x'],
  'any-json': ['v: JsonValue', {}, { a: [null] }, '{a: [null]}', ANYTHING],
  unknown: ['v: unknown', {}, [1], '[1]', ANYTHING],
  recursive: ['v: Tree', { $ref: '#/$defs/Tree' }, { at: '2026-01-31T12:00:00Z', children: [{ at: '2026-02-01T12:00:00Z' }] }, '{at: Date 2026-01-31T12:00:00.000Z, children: [{at: Date 2026-02-01T12:00:00.000Z}]}', { children: [] }],
  'recursive-alias': ['v: Expression', { $ref: '#/$defs/Expression' }, [1, [2]], '[1, [2]]', 'x'],
  generic: ['v: Page<Date>', record({ items: { type: 'array', items: DATE }, next: TEXT }, ['items']), { items: ['2026-01-31T12:00:00Z'] }, '{items: [Date 2026-01-31T12:00:00.000Z]}', { items: [1] }],
  inherited: ['v: City', record({ people: { type: 'integer' }, name: TEXT, lat: { type: 'number', description: 'Degrees north.' }, lon: { type: 'number' } }, ['name', 'lat', 'lon']), { name: 'a', lat: 1, lon: 2 }, '{name: "a", lat: 1, lon: 2}', { name: 'a' }],
  combined: ['v: Pick<Point, "lat"> & Partial<Named>', record({ lat: { type: 'number', description: 'Degrees north.' }, name: TEXT }, ['lat']), { lat: 1 }, '{lat: 1}', { name: 'a' }],
  imported: ['v: Unit', { type: 'string', enum: ['m', 'km'], description: 'A unit of length.' }, 'km', '"km"', 'mile'],
  'fields-of-a-class': ['v: Money', record({ amount: TEXT, currency: { type: 'string', enum: ['EUR', 'USD'] } }), { amount: '1', currency: 'EUR' }, '{amount: "1", currency: "EUR"}', { amount: '1' }],
  described: ['/** Where it is. */ v: Point', { ...POINT, description: 'Where it is.' }, { lat: 1, lon: 2 }, '{lat: 1, lon: 2}', { lat: 1 }],
  'described-type': ['v: Point', POINT, { lat: 1, lon: 2 }, '{lat: 1, lon: 2}', { lat: 1, lon: 2, up: 3 }],
  keywords: ['v: { class: string; "x-y": number }', record({ class: TEXT, 'x-y': { type: 'number' } }), { class: 'a', 'x-y': 1 }, '{class: "a", x-y: 1}', { class: 'a' }],
  empty: ['v: Record<string, never>', { type: 'object', properties: {}, additionalProperties: false }, {}, '{}', { a: 1 }],
  branded: ['v: Id', TEXT, 'a', '"a"', 1],
  'template-text': ['v: `${number}px`', { ...TEXT, pattern: '^-?[0-9]+(\\.[0-9]+)?px$' }, '12px', '"12px"', '12'],
};

/** What JSON cannot say: the parameter, and what the build says of it. */
const REFUSED = {
  'a-function': ['{ run: () => void }', /`run`: a function is not JSON/],
  'private-state': ['{ safe: Safe }', /a class with private state/],
  'a-default-beyond': ['{ /** @maximum 7 @default 8 */ n?: number }', /`n`: the default 8 is beyond `maximum`/],
  'a-default-of-another-type': ['{ /** @default x */ n?: number }', /`n`: the default "x" is no number/],
  'a-symbol': ['{ key: symbol }', /`key`: a symbol is not JSON/],
  'undefined-alone': ['{ nothing: undefined }', /`nothing`: `undefined` alone/],
  'a-promise': ['{ later: Promise<string> }', /`later`: a Promise is not JSON/],
  'a-pattern': ['{ pattern: RegExp }', /`pattern`: a RegExp is not JSON/],
  'not-an-object': ['string', /the arguments of a tool are an object/],
};

/** Writes a value with its class. */
const SHOW = `
function show(value: any): string {
  if (typeof value === 'bigint') return value + 'n';
  if (value instanceof Date) return 'Date ' + value.toISOString();
  if (value instanceof URL) return 'URL ' + value.href;
  if (value instanceof Set) return 'Set ' + show([...value]);
  if (value instanceof Map) return 'Map ' + show([...value]);
  if (value instanceof Uint8Array) return 'Uint8Array ' + show([...value]);
  if (Array.isArray(value)) return '[' + value.map(show).join(', ') + ']';
  if (typeof value === 'object' && value !== null) return '{' + Object.entries(value).map(([key, each]) => key + ': ' + show(each)).join(', ') + '}';
  return String(JSON.stringify(value));
}`;

function moduleText() {
  const shapes = Object.entries(SHAPES).map(([name, [property]]) => `  '${name}': async (_: unknown, input: {\n${property} }) => show(input.v),`);
  const refused = Object.entries(REFUSED).map(([name, [type]]) => `  '${name}': async (_: unknown, input: ${type}) => 1,`);
  return [DECLARATIONS, SHOW, 'export const handlers = {', ...shapes, ...refused, '};'].join('\n');
}

/** JSON with the digits of big integers. */
const json = (value) => JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `#${each}#` : each)).replace(/"#(\d+)#"/g, '$1');

describe('types of handlers', () => {
  let folder;
  let answer;
  before(async () => {
    folder = await sources(moduleText(), { 'units.ts': "/** A unit of length. */\nexport type Unit = 'm' | 'km';\n" });
    answer = await build(path.join(folder, 'index.ts'), path.join(folder, 'tool.wasm'));
    assert.ok(answer.ok, JSON.stringify(answer.errors));
  });
  const exported = (name) => answer.exports.find((each) => each.name === name);

  test('are schemas', () => {
    for (const [name, [, schema]] of Object.entries(SHAPES)) {
      const { parameters, problem } = exported(name);
      assert.deepStrictEqual([problem, parameters?.properties.v], [undefined, schema], name);
    }
    assert.deepStrictEqual(exported('recursive').parameters.$defs.Tree, record({ at: DATE, children: { type: 'array', items: { $ref: '#/$defs/Tree' } } }, ['at']));
  });

  test('that JSON has not are problems with their place', () => {
    const lines = moduleText().split('\n');
    for (const [name, [, says]] of Object.entries(REFUSED)) {
      const { parameters, problem } = exported(name);
      assert.strictEqual(parameters, undefined, name);
      assert.match(problem.text, says);
      const line = lines.findIndex((each) => (name === 'private-state' ? each.includes('class Safe') : each.includes(`'${name}'`)));
      assert.deepStrictEqual([problem.file, problem.line], ['index.ts', line + 1], name);
      assert.ok(problem.suggestion);
    }
  });

  test('are what arrives, and other arguments are refused', needsHost, async () => {
    const exports = Object.keys(SHAPES).map((name) => ({ name }));
    const manifest = { apiVersion: 'goondan.ai/v1', kind: 'Tool', metadata: { name: 't' }, spec: { entry: './tool.wasm', exports } };
    const cases = Object.entries(SHAPES).flatMap(([name, [, , taken, arrives, refused]]) => [
      { name, tool: `t__${name}`, args: taken === undefined ? {} : { v: taken }, expect: { output: arrives } },
      ...(refused === ANYTHING ? [] : [{ name: `not ${name}`, tool: `t__${name}`, args: { v: refused }, expect: { error: 'E_TOOL_INVALID_ARGS' } }]),
    ]);
    await lay({ 'goondan.yaml': json(manifest), 'tests/shapes.yaml': json(cases) }, folder);
    // All that are written here, and a part of those that are generated from the schemas.
    for (const some of ['--no-generated', '--shard=1/8']) {
      const { code, stdout, stderr } = await run(TOOLHOST, ['test', folder, some], { HOME: folder });
      assert.strictEqual(code, 0, stdout + stderr);
    }
  });
});

// Where schemas come from: comments, JSDoc types, exported functions, packages for schemas, and the manifest.
import assert from 'node:assert';
import { readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { describe, test } from 'node:test';
import { SDK, TOOLHOST, build, lay, needsHost, run, sources, temporary } from './toolhost.mjs';

/** Builds modules, and returns what is known of each handler. */
async function exportsOf(text, files = {}, entry = 'index.ts') {
  const folder = await sources(text, files);
  const { ok, errors, exports } = await build(path.join(folder, entry), path.join(folder, 'tool.wasm'));
  assert.ok(ok, JSON.stringify(errors));
  return Object.fromEntries(exports.map(({ name, ...said }) => [name, said]));
}

const record = (properties, required = Object.keys(properties)) => ({ type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false });

/** As a package for schemas makes it: an object with a text that gets a default and becomes its length. */
const STANDARD = `
const text = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    types: undefined as { input: { text?: string }; output: { length: number } } | undefined,
    validate: async (value: any) =>
      value.text === 'bad' ? { issues: [{ message: 'is bad', path: ['text', { key: 0 }] }] } : { value: { length: (value.text ?? 'four').length } },
    jsonSchema: {
      input: ({ target }: { target: string }) => ({ $schema: target, type: 'object', properties: { text: { type: 'string', default: 'four' } } }),
      output: () => ({ type: 'object' }),
    },
  },
};
const typed = { '~standard': { ...text['~standard'], jsonSchema: undefined } };
/** As zod 3 makes it. */
const ofString = { _def: { typeName: 'ZodString', checks: [{ kind: 'min', value: 1 }] } };
const withDefault = { description: 'Some text.', _def: { typeName: 'ZodDefault', innerType: ofString, defaultValue: () => 'four' } };
const zod = { ...typed, _def: { typeName: 'ZodObject', shape: () => ({ text: withDefault }) } };
`;

describe('schemas', () => {
  test('the comments of a handler, its function and its types are descriptions', async () => {
    const { a, b, c, d } = await exportsOf(`
      import { shared } from './shared';
      /** Of the function. */
      async function b(ctx: unknown, input: { n: number }) {}
      export const handlers = {
        /**
         * Of the list,
         * on two lines.
         *
         * A paragraph.
         */
        a: async (ctx: unknown, { limit = 10, names = ['x'] }: { /** How many. */ limit?: number; names?: string[] }) => ({ limit, names }),
        b,
        c: shared,
        d: async () => 1,
      };`, { 'shared.ts': '/** Of another module. */\nexport const shared = async (ctx: unknown, input: { n: 1 | 2 }) => [1];\n' });
    assert.deepStrictEqual([a, b, c, d].map(({ description }) => description), ['Of the list, on two lines.\n\nA paragraph.', 'Of the function.', 'Of another module.', undefined]);
    const names = { type: 'array', items: { type: 'string' }, default: ['x'] };
    assert.deepStrictEqual(a.parameters, record({ limit: { type: 'number', description: 'How many.', default: 10 }, names }, []));
    const { default: _, ...list } = names;
    assert.deepStrictEqual(a.outputSchema, { type: 'object', properties: { limit: { type: 'number' }, names: list }, required: ['limit', 'names'] });
    assert.deepStrictEqual([b.outputSchema, c.outputSchema, d.parameters], [undefined, undefined, record({})]);
  });

  test('types of JavaScript are comments', async () => {
    const { count } = await exportsOf('', {
      'index.mjs': `export const handlers = {
        /**
         * Counts.
         * @param {object} ctx
         * @param {object} input
         * @param {string} input.path Where it is.
         * @param {number} [input.limit]
         * @returns {Promise<{lines: number}>}
         */
        count: async (ctx, input) => ({ lines: input.path.length }),
      };`,
    }, 'index.mjs');
    assert.strictEqual(count.description, 'Counts.');
    assert.deepStrictEqual(count.parameters, record({ path: { type: 'string', description: 'Where it is.' }, limit: { type: 'number' } }, ['path']));
    assert.deepStrictEqual(count.outputSchema.properties, { lines: { type: 'number' } });
  });

  test('a handler without types has no parameters, and what `exports` of the module says is right', async () => {
    const { a, b, c } = await exportsOf(`
      import type { ToolHandler } from 'toolhost';
      export const exports = [{ name: 'b', description: 'B', parameters: { type: 'object', minProperties: 1 } }];
      export const handlers: Record<string, ToolHandler> = {
        a: async (ctx, input) => input,
        b: async (ctx, input: { run: () => void }) => 1,
        c: async (ctx, input: { n: number }) => 1,
      };`);
    assert.deepStrictEqual([a, b], [{}, { description: 'B', parameters: { type: 'object', minProperties: 1 } }]);
    assert.deepStrictEqual(c.parameters, record({ n: { type: 'number' } }));
  });

  test('exported functions are handlers where there is no `handlers`', async () => {
    const exports = await exportsOf(`
      /** Adds. */
      export async function add(ctx: unknown, input: { a: number }) { return { sum: input.a }; }
      export const twice = (ctx: unknown, { n }: { n: number }) => 2 * n;
      export const LIMIT = 5;
      export function camelCase() {}`);
    assert.deepStrictEqual(Object.keys(exports), ['add', 'twice']);
    assert.strictEqual(exports.add.description, 'Adds.');
    assert.deepStrictEqual(exports.twice.parameters, record({ n: { type: 'number' } }));
  });

  test('a schema of a package describes and parses the input', needsHost, async () => {
    const folder = await sources(`import { tool } from 'toolhost';
      ${STANDARD}
      export const handlers = {
        said: tool({ description: 'Said.', input: text, output: text, run: async (ctx, { length }) => ({ text: 'x'.repeat(length) }) }),
        typed: tool({ input: typed, run: async (ctx, { length }) => length }),
        zod: tool({ input: zod, run: async (ctx, { length }) => length }),
        plain: tool({ input: { type: 'object', required: ['n'] }, run: async (ctx, input: { n: number }) => input.n }),
        inferred: tool({ run: async (ctx, input: { at: Date }) => input.at.getTime() }),
      };`);
    const { exports } = await build(path.join(folder, 'index.ts'), path.join(folder, 'tool.wasm'));
    const [said, typed, zod, plain, inferred] = exports;
    const parameters = { type: 'object', properties: { text: { type: 'string', default: 'four' } } };
    assert.deepStrictEqual(said, { name: 'said', description: 'Said.', parameters, outputSchema: { type: 'object' } });
    assert.deepStrictEqual(typed.parameters, record({ text: { type: 'string' } }, []));
    assert.deepStrictEqual(zod.parameters.properties, { text: { type: 'string', minLength: 1, default: 'four', description: 'Some text.' } });
    assert.deepStrictEqual(plain.parameters, { type: 'object', required: ['n'] });
    assert.deepStrictEqual(inferred.parameters, record({ at: { type: 'string', format: 'date-time' } }));

    const manifest = { apiVersion: 'goondan.ai/v1', kind: 'Tool', metadata: { name: 't' }, spec: { entry: './tool.wasm', exports: exports.map(({ name }) => ({ name })) } };
    const error = (code) => ({ error: code });
    const cases = [
      ['said', {}, { output: { length: 4 } }],
      ['said', { text: 'bad' }, { error: { code: 'INVALID_INPUT', message: 'input.text[0]: is bad' } }],
      ['typed', {}, { output: 4 }],
      ['zod', { text: 'three' }, { output: 5 }],
      ['plain', { n: 7 }, { output: 7 }],
      ['plain', {}, error('E_TOOL_INVALID_ARGS')],
      ['inferred', { at: '1970-01-01T00:00:01Z' }, { output: 1000 }],
      ['inferred', { at: 'soon' }, error('INVALID_INPUT')],
    ].map(([name, args, expect], index) => ({ name: `${index}`, tool: `t__${name}`, args, expect }));
    await lay({ 'goondan.yaml': JSON.stringify(manifest), 'tests/cases.yaml': JSON.stringify(cases) }, folder);
    const { code, stdout, stderr } = await run(TOOLHOST, ['test', folder, '--no-generated'], { HOME: folder });
    assert.strictEqual(code, 0, stdout + stderr);
  });

  test('a schema of zod takes values that JSON has not, and refuses arguments that it does not name', needsHost, async () => {
    for (const version of ['zod', 'zod/v3']) {
      const folder = await sources(`import { tool } from 'toolhost';
        import { z } from '${version}';
        const both = z.intersection(z.object({ a: z.string() }), z.object({ b: z.bigint() }));
        const either = z.union([z.object({ kind: z.literal('none') }), z.object({ kind: z.literal('one'), n: z.bigint() }), z.date()]);
        export const handlers = {
          next: tool({ input: z.object({ id: z.bigint().min(1n) }), output: z.object({ id: z.bigint() }), run: async (ctx, { id }) => ({ id: id + 1n }) }),
          day: tool({ input: z.object({ at: z.date().optional(), more: z.array(z.date()).default([]) }), run: async (ctx, { at, more }) => [at ?? null, ...more].map((each) => each?.getTime() ?? 0) }),
          many: tool({ input: z.object({ ids: z.set(z.bigint()), by: z.map(z.string(), z.bigint()) }), run: async (ctx, { ids, by }) => String(by.get('a')) + ids.has(2n) }),
          both: tool({ input: z.object({ both }), run: async (ctx, { both: { a, b } }) => a + typeof b }),
          either: tool({ input: z.object({ either }), run: async (ctx, { either }) => (either instanceof Date ? 'date' : 'n' in either ? typeof either.n : either.kind) }),
          open: tool({ input: z.object({ n: z.number() }).passthrough(), run: async (ctx, input) => Object.keys(input) }),
        };`);
      await symlink(path.join(SDK, 'build/node_modules'), path.join(folder, 'node_modules'));
      const { exports, errors } = await build(path.join(folder, 'index.ts'), path.join(folder, 'tool.wasm'));
      assert.deepStrictEqual(errors, undefined);
      assert.deepStrictEqual(exports[0].parameters, record({ id: { type: 'integer', minimum: 1 } }));
      const refused = '"error": "E_TOOL_INVALID_ARGS"';
      const cases = [
        ['next', '{"id": 9007199254740993}', '"output": {"id": 9007199254740994}'],
        ['next', '{"id": 0}', refused],
        ['next', '{"id": 7, "idd": 8}', refused],
        ['day', '{"at": "1970-01-01T00:00:01Z", "more": ["1970-01-01T00:00:02Z"]}', '"output": [1000, 2000]'],
        ['day', '{}', '"output": [0]'],
        ['many', '{"ids": [1, 2], "by": {"a": 3}}', '"output": "3true"'],
        ['both', '{"both": {"a": "x", "b": 1}}', '"output": "xbigint"'],
        ['either', '{"either": {"kind": "none"}}', '"output": "none"'],
        ['either', '{"either": {"kind": "one", "n": 1}}', '"output": "bigint"'],
        ['either', '{"either": "1970-01-01T00:00:01Z"}', '"output": "date"'],
        ['open', '{"n": 1, "m": 2}', '"output": ["n", "m"]'],
      ].map(([name, args, expect], index) => `{"name": "${index}", "tool": "t__${name}", "args": ${args}, "expect": {${expect}}}`);
      const manifest = { apiVersion: 'goondan.ai/v1', kind: 'Tool', metadata: { name: 't' }, spec: { entry: './tool.wasm', exports: exports.map(({ name }) => ({ name })) } };
      await lay({ 'goondan.yaml': JSON.stringify(manifest), 'tests/cases.yaml': `[${cases.join(',\n')}]` }, folder);
      const { code, stdout, stderr } = await run(TOOLHOST, ['test', folder, '--no-generated'], { HOME: folder });
      assert.strictEqual(code, 0, version + stdout + stderr);
    }
  });

  test('types of packages are read where a handler names them', async () => {
    const files = {
      'node_modules/dep/package.json': '{"name":"dep","version":"1.0.0","main":"index.js","types":"index.d.ts"}',
      'node_modules/dep/index.js': 'exports.make = () => ({ n: 1 });',
      'node_modules/dep/index.d.ts': 'export interface Options { /** How deep. */ depth: number }\nexport function make(): { n: number };',
    };
    const beside = "import { make, type Options } from 'dep';\nexport const handlers = { b: (ctx: unknown, input: { s: string }) => make(),";
    const { b: alone } = await exportsOf(`${beside} };`, files);
    assert.deepStrictEqual([alone.parameters, alone.outputSchema], [record({ s: { type: 'string' } }), undefined]);
    const { a, b } = await exportsOf(`${beside} a: (ctx: unknown, input: Options) => 1 };`, files);
    assert.deepStrictEqual(a.parameters, record({ depth: { type: 'number', description: 'How deep.' } }));
    assert.deepStrictEqual(b.outputSchema, { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] });
  });

  test('what is known of types is kept until a file that says it changes', async () => {
    const folder = await sources("import type { Input } from './input';\nexport const handlers = { a: (ctx: unknown, input: Input) => 1 };", { 'input.ts': 'export type Input = { n: number };' });
    const work = await temporary();
    const properties = async () => {
      const { exports, inputs } = await build(path.join(folder, 'index.ts'), path.join(folder, 'tool.wasm'), '--work', work);
      assert.deepStrictEqual(inputs.map((file) => path.basename(file)), ['index.ts', 'input.ts']);
      return exports[0].parameters.properties;
    };
    for (const type of ['number', 'number', 'string']) {
      await lay({ 'input.ts': `export type Input = { n: ${type} };` }, folder);
      assert.deepStrictEqual(await properties(), { n: { type } });
    }
  });

  test('the template says all in its code, and its handler is a function for tests without a host', async () => {
    const text = await readFile(path.join(SDK, 'template/index.ts'), 'utf8');
    const { count } = await exportsOf(text);
    assert.match(count.description, /^Counts the lines/);
    assert.deepStrictEqual(Object.keys(count.outputSchema.properties), ['lines', 'words', 'chars']);

    const { transform } = createRequire(new URL('../build/package.json', import.meta.url))('esbuild');
    const { code } = await transform(text, { loader: 'ts', format: 'esm' });
    const { handlers } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
    const poem = path.join(await sources('one two\nthree\n'), 'index.ts');
    assert.deepStrictEqual(await handlers.count({}, { path: poem }), { lines: 2, words: 3, chars: 14 });
  });
});

/** The module `toolhost`, in a component as in Node. */

export class Pending {
  /** @param {string} handle */
  constructor(handle) {
    this.handle = handle;
  }
}

/**
 * Makes the value that a handler returns when its work is accepted but not finished. The host asks again
 * through the module's `polling`, in a fresh instance: the tool must keep its state in the handle
 * (at most 1 KiB) or in files.
 * @param {string} handle
 */
export function pending(handle) {
  if (typeof handle !== 'string' || handle === '') throw new TypeError('pending() takes a handle: a text that is not empty');
  return new Pending(handle);
}

/** The error of a tool that another tool called. */
export class ToolError extends Error {
  /**
   * @param {{ message: string, code?: string, suggestion?: string, helpUrl?: string, parameters?: string }} failure as
   *   the contract has it: `parameters` is a text
   * @param {string} [tool] name of the tool
   */
  constructor({ message, code, suggestion, helpUrl, parameters }, tool) {
    super(message);
    if (code) this.code = code;
    if (suggestion) this.suggestion = suggestion;
    if (helpUrl) this.helpUrl = helpUrl;
    if (tool) this.tool = tool;
    if (parameters) this.parameters = JSON.parse(parameters);
  }

  /** @returns {object | undefined} */
  get schema() {
    return this.parameters;
  }

  toJSON() {
    const { name, message, code, suggestion, tool } = this;
    return { name, message, code, suggestion, tool };
  }
}

Object.defineProperty(ToolError.prototype, 'name', { value: 'ToolError', configurable: true, writable: true });

/** Under this symbol a handler that `tool` made has its definition. */
export const DEFINITION = Symbol.for('toolhost.tool');

/**
 * Makes a handler of a function with a description and schemas. Its input is what the schema makes of the arguments.
 * @param {{ description?: string, input?: object, output?: object, run(context: unknown, input: unknown): unknown }} definition
 */
export function tool(definition) {
  if (typeof definition?.run !== 'function') {
    throw wrong('tool() takes an object with a function `run`', 'write `tool({ description, input, run: async (ctx, input) => … })`');
  }
  const { input, output } = definition;
  refuseShape('input', input);
  refuseShape('output', output);
  const handler = async (/** @type {unknown} */ context, /** @type {unknown} */ value) => {
    const result = await definition.run(context, input ? await validated(input, value, 'input') : value);
    return output && !(result instanceof Pending) ? validated(output, result, 'output') : result;
  };
  return Object.assign(handler, { [DEFINITION]: definition });
}

/**
 * Refuses an object of schemas, which other SDKs take in the place of one schema.
 * @param {'input' | 'output'} what
 * @param {object | undefined} schema
 */
function refuseShape(what, schema) {
  if (schema === undefined || standardOf(schema)) return;
  const name = typeof schema === 'object' && schema !== null ? Object.keys(schema).find((key) => standardOf(schema[key])) : undefined;
  if (name === undefined) return;
  throw wrong(`\`${what}\` of tool() is an object of schemas (\`${name}\`, …), and not a schema`, `write \`${what}: z.object({ ${name}: … })\``);
}

/**
 * @param {string} message
 * @param {string} suggestion
 */
function wrong(message, suggestion) {
  return Object.assign(new TypeError(message), { suggestion });
}

/**
 * Returns what a package such as zod, valibot and arktype says of its schema: https://standardschema.dev.
 * @param {any} schema
 */
export function standardOf(schema) {
  return schema?.['~standard'];
}

/**
 * Returns what a schema makes of a value. Throws what it finds wrong.
 * @param {object} schema
 * @param {unknown} value
 * @param {'input' | 'output'} what
 */
async function validated(schema, value, what) {
  const standard = standardOf(schema);
  if (!standard) return value;
  const result = await standard.validate(value);
  if (!result.issues) return result.value;
  const text = result.issues.map(({ path = [], message }) => `${what}${path.map(step).join('')}: ${message}`).join('; ');
  throw Object.assign(new Error(text), {
    name: what === 'input' ? 'InvalidInputError' : 'InvalidOutputError',
    code: what === 'input' ? 'INVALID_INPUT' : 'INVALID_OUTPUT',
    suggestion: what === 'input' ? 'pass what the parameters of the tool say' : 'the author must correct the tool: its result does not fit its own schema',
  });
}

/** @param {PropertyKey | { key: PropertyKey }} part */
function step(part) {
  const key = typeof part === 'object' ? part.key : part;
  return typeof key === 'number' ? `[${key}]` : `.${String(key)}`;
}

export default { pending, tool, ToolError };

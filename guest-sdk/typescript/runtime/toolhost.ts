/** The module `toolhost`. */
import { validated, type Schema } from './schema';
import { ToolError } from './tool-error';

export { ToolError };

export class Pending {
  constructor(readonly handle: string) {}
}

/**
 * Makes the value that a handler returns when its work is accepted but not finished. The host asks again
 * through the module's `polling`, in a fresh instance: the tool must keep its state in the handle
 * (at most 1 KiB) or in files.
 */
export function pending(handle: string): Pending {
  if (typeof handle !== 'string' || handle === '') throw new TypeError('pending() takes a handle: a text that is not empty');
  return new Pending(handle);
}

/** Under this symbol a handler that `tool` made has its definition. */
export const DEFINITION = Symbol.for('toolhost.tool');

export interface Definition {
  description?: string;
  input?: Schema;
  output?: Schema;
  run(context: unknown, input: unknown): unknown;
}

/** Makes a handler of a function with a description and schemas. Its input is what the schema makes of the arguments. */
export function tool(definition: Definition) {
  if (typeof definition?.run !== 'function') throw new TypeError('tool() takes an object with a function `run`');
  const { input, output } = definition;
  const handler = async (context: unknown, value: unknown): Promise<unknown> => {
    const result = await definition.run(context, input ? await validated(input, value, 'input') : value);
    return output && !(result instanceof Pending) ? validated(output, result, 'output') : result;
  };
  return Object.assign(handler, { [DEFINITION]: definition });
}

export default { pending, tool, ToolError };

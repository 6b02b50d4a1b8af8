/** Checks the author's module, once, while the tool is built. */
import type { WholePlan } from './convert';
import { jsonSchemaOf, planOf } from './schema';
import { DEFINITION, type Definition } from './toolhost';

type Handler = ((context: object, input: unknown) => unknown) & { [DEFINITION]?: Definition };

/** A handler as `describe` names it. */
export interface ExportSpec {
  name: string;
  description?: string;
  /** JSON Schema, as text. */
  parameters?: string;
}

/** What a handler is called with and returns, as its types say (build/types/handlers.mjs), or the module itself. */
export interface Described {
  name: string;
  description?: string;
  parameters?: object;
  outputSchema?: object;
  /** How arguments and results are converted. */
  plan?: { input?: WholePlan; output?: WholePlan };
  /** Why there are no parameters. */
  problem?: { text: string; suggestion?: string };
}

/** What a module may export. */
export interface ToolModule {
  handlers: Record<string, Handler>;
  /** Descriptions and parameters of handlers, as the manifest's `spec.exports` has them. */
  exports?: { name: string; description?: string; parameters?: object }[];
  polling?: {
    poll(context: object, handle: string): unknown;
    cancel?(context: object, handle: string): unknown;
  };
}

/** Lower-case letters, digits, `_` and `-`; not `__`, and no `_` in front. */
const NAME = /^[a-z0-9-](?!.*__)[a-z0-9_-]*$/;

const NAME_RULE = 'a name is lower-case letters, digits, `_` and `-`, without `__`';

/**
 * Returns what is known of each handler, and the names of handlers that no manifest can export. Throws if the module
 * is not a valid tool.
 */
export function describeModule(module: ToolModule, types: readonly Described[] = []): { described: Described[]; leftOut: string[] } {
  const { handlers, exports = [], polling } = module;
  if (typeof handlers !== 'object' || handlers === null) {
    throw new TypeError('the module exports no `handlers`: write `export const handlers = { name: async (ctx, input) => … }`');
  }
  const all = Object.keys(handlers);
  if (all.length === 0) throw new TypeError('`handlers` is empty: a tool serves at least one handler');
  const names = all.filter((name) => NAME.test(name));
  if (names.length === 0) throw new TypeError(`handler \`${all[0]}\`: ${NAME_RULE}`);
  for (const name of names) {
    if (typeof handlers[name] !== 'function') throw new TypeError(`handler \`${name}\` is not a function`);
  }
  if (!Array.isArray(exports)) throw new TypeError('`exports` is not an array of { name, description, parameters }');
  for (const { name } of exports) {
    if (!all.includes(name)) throw new TypeError(`\`exports\` describes \`${name}\`, which \`handlers\` does not have`);
  }
  if (polling !== undefined && typeof polling?.poll !== 'function') throw new TypeError('`polling` has no function `poll`');
  const described = names.map((name) => {
    const typed = types.find((each) => each.name === name) ?? { name };
    const said = { ...typed, ...defined(handlers[name]![DEFINITION], typed.plan), ...written(exports.find((each) => each.name === name)) };
    if (said.parameters) delete said.problem;
    return said;
  });
  return { described, leftOut: all.filter((name) => !NAME.test(name)) };
}

/** What the definition of `tool` says. Its schemas say how to convert, in the place of `typed`. */
function defined(definition: Definition | undefined, typed: Described['plan']): Partial<Described> {
  if (!definition) return {};
  const { description, input, output } = definition;
  try {
    const parameters = input && jsonSchemaOf(input, 'input');
    const result = output && jsonSchemaOf(output, 'output');
    const plan = { input: input ? planOf(input, 'input') : typed?.input, output: output ? planOf(output, 'output') : typed?.output };
    return { ...written({ description, parameters }), plan, ...(result?.type === 'object' && { outputSchema: result }) };
  } catch (error) {
    return { ...written({ description }), problem: { text: `a schema cannot be JSON Schema: ${String((error as Error)?.message ?? error)}`, suggestion: 'use schemas of values that JSON has' } };
  }
}

function written({ description, parameters }: { description?: string; parameters?: object } = {}): Partial<Described> {
  return { ...(description !== undefined && { description }), ...(parameters && { parameters }) };
}

/** Returns what `describe` returns. */
export function exportSpec({ name, description, parameters }: Described): ExportSpec {
  return { name, description, parameters: parameters && JSON.stringify(parameters) };
}

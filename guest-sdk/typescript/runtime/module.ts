/** Checks the author's module, once, while the tool is built. */

type Handler = (context: object, input: unknown) => unknown;

export interface ExportSpec {
  name: string;
  description?: string;
  parameters?: string;
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
 * Returns the result of `describe`, and the names of handlers that no manifest can export. Throws if the module is not
 * a valid tool.
 */
export function describeModule(module: ToolModule): { described: ExportSpec[]; leftOut: string[] } {
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
    const { description, parameters } = exports.find((each) => each.name === name) ?? { name };
    return { name, description, parameters: parameters && JSON.stringify(parameters) };
  });
  return { described, leftOut: all.filter((name) => !NAME.test(name)) };
}

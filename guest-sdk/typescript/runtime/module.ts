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
 * Thrown at build for handlers that no manifest can export. The build reads the names from the message,
 * which is all that the engines pass on, and builds again without these handlers.
 */
export class UnexportableHandlers extends Error {
  constructor(names: string[]) {
    super(`toolhost:left-out [${names.map(quoted).join(',')}]`);
  }
}

/** Returns a name as JSON of ASCII letters, digits, `_`, `-`, quotes and backslashes. */
function quoted(name: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return `"${name.replace(/[^A-Za-z0-9_-]/g, escaped)}"`;
}

/**
 * Returns the result of `describe`, without the handlers of `leftOut`. Throws if the module is not a valid
 * tool.
 */
export function describeModule(module: ToolModule, leftOut: readonly string[] = []): ExportSpec[] {
  const { handlers, exports = [], polling } = module;
  if (typeof handlers !== 'object' || handlers === null) {
    throw new TypeError('the module exports no `handlers`: write `export const handlers = { name: async (ctx, input) => … }`');
  }
  const all = Object.keys(handlers);
  if (all.length === 0) throw new TypeError('`handlers` is empty: a tool serves at least one handler');
  const names = all.filter((name) => NAME.test(name));
  if (names.length === 0) throw new TypeError(`handler \`${all[0]}\`: ${NAME_RULE}`);
  const unexportable = all.filter((name) => !NAME.test(name) && !leftOut.includes(name));
  if (unexportable.length > 0) throw new UnexportableHandlers(unexportable);
  for (const name of names) {
    if (typeof handlers[name] !== 'function') throw new TypeError(`handler \`${name}\` is not a function`);
  }
  if (!Array.isArray(exports)) throw new TypeError('`exports` is not an array of { name, description, parameters }');
  for (const { name } of exports) {
    if (!all.includes(name)) throw new TypeError(`\`exports\` describes \`${name}\`, which \`handlers\` does not have`);
  }
  if (polling !== undefined && typeof polling?.poll !== 'function') throw new TypeError('`polling` has no function `poll`');
  return names.map((name) => {
    const { description, parameters } = exports.find((each) => each.name === name) ?? { name };
    return { name, description, parameters: parameters && JSON.stringify(parameters) };
  });
}

/** Converts the contract's `tool-context` to the `ctx` of a handler (tool-spec-v2 §7.3). */
import { console } from './console';

export interface WitContext {
  agentName: string;
  instanceKey: string;
  turnId: string;
  toolCallId: string;
  traceId?: string | null;
  message: string;
  workdir: string;
}

let tools = (): object => {
  throw Object.assign(new Error('`ctx.tools` is not in this component'), {
    code: 'NO_TOOLS',
    suggestion: 'the author must correct the tool: write `ctx.tools`, with the context in a variable `ctx` or `context`, so that the build sees it',
  });
};

/** Has `ctx.tools` return the tools of the step. */
export function serveTools(make: () => object): void {
  tools = make;
}

/** What every context has without a property of its own. */
const CONTEXT = {
  get tools(): object {
    return tools();
  },
};

export function toContext(wit: WitContext): object {
  const { agentName, instanceKey, turnId, toolCallId, traceId, workdir } = wit;
  // Few handlers read it, and it may be large.
  let message: unknown;
  return Object.freeze({
    __proto__: CONTEXT,
    agentName,
    instanceKey,
    turnId,
    toolCallId,
    ...(traceId ? { traceId } : {}),
    get message() {
      return (message ??= JSON.parse(wit.message));
    },
    workdir,
    logger: console,
  });
}

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

export function toContext(wit: WitContext): object {
  const { agentName, instanceKey, turnId, toolCallId, traceId, workdir } = wit;
  // Few handlers read it, and it may be large.
  let message: unknown;
  return Object.freeze({
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

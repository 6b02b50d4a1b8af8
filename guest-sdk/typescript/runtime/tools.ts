/** `ctx.tools`: the other tools of the step, as far as the operator's policy grants them. */
import * as wit from 'goondan:tool/tools';
import { serveTools } from './context';
import { whenReady } from './engine/qjs/waits';
import { toValue } from './input';
import { toJson } from './output';
import { refuseAtBuild } from './snapshot';
import { ToolError, type Failure } from './tool-error';
import { ToolNames, toolsObject } from './tool-names';

interface Options {
  signal?: AbortSignal;
}

/** Calls that run. The engine would drop a call before its pollable, and the host expects the pollable first. */
const running = new Set<wit.Call>();

/** Calls that wait until there is room for another one. */
const waiting: (() => void)[] = [];

/** How many calls may run at once. The policy may say less, which a refusal tells. */
let atOnce = 16;

/** The contract's `tool-error` and `failure`, which the engine throws as they are or as the payload of its own error. */
function toolError(thrown: unknown, tool?: string): unknown {
  const fields = ((thrown as { payload?: unknown } | null)?.payload ?? thrown) as Failure & { error?: Failure };
  if (typeof fields !== 'object' || fields === null || fields instanceof Error) return thrown;
  return new ToolError(fields.error ? { ...fields.error, ...(fields.parameters && { parameters: fields.parameters }) } : fields, tool);
}

function ask<T>(act: () => T, tool?: string): T {
  refuseAtBuild('`ctx.tools` is used');
  try {
    return act();
  } catch (error) {
    throw toolError(error, tool);
  }
}

/** Calls a tool. The promise rejects with a `ToolError`. */
function call(name: string, args: unknown = {}, { signal }: Options = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    refuseAtBuild('a tool is called');
    const json = toJson(args, 'arguments');
    const begin = (): void => {
      if (signal?.aborted) return reject(signal.reason);
      let started: wit.Call;
      try {
        started = wit.start(String(name), json);
      } catch (thrown) {
        const error = toolError(thrown, name);
        const isLimit = error instanceof ToolError && error.code === 'E_TOOL_CALL_LIMIT';
        if (!isLimit || running.size === 0) return reject(names.unknown(`tools[${JSON.stringify(name)}]`, error));
        // Perhaps there are too many at once. Where there are too many in all, it is refused again.
        atOnce = running.size;
        waiting.unshift(begin);
        return;
      }
      running.add(started);
      follow(started, name, signal).then(resolve, reject);
    };
    waiting.push(begin);
    beginWaiting();
    // One that waits is not begun any more.
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function beginWaiting(): void {
  while (running.size < atOnce && waiting.length > 0) waiting.shift()!();
}

/** Returns the output of a call once it has ended, and drops the call. */
function follow(started: wit.Call, name: string, signal: AbortSignal | undefined): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      signal?.removeEventListener('abort', abort);
      running.delete(started);
      started[Symbol.dispose]?.();
      beginWaiting();
    };
    const abort = (): void => {
      stop();
      started.cancel();
      end();
      reject(signal!.reason);
    };
    const look = (): void => {
      try {
        const result = started.get();
        if (result === undefined || result === null) return listen();
        end();
        if (result.tag === 'err') reject(toolError(result.val, name));
        else resolve(toValue(result.val, `the output of ${name}`));
      } catch (error) {
        reject(error);
      }
    };
    let stop: () => void;
    const listen = (): void => {
      stop = whenReady(started.subscribe(), look);
    };
    signal?.addEventListener('abort', abort, { once: true });
    listen();
  });
}

function toDescription({ name, description, parameters, outputSchema }: wit.Tool): object {
  return {
    name,
    ...(description && { description }),
    parameters: JSON.parse(parameters),
    ...(outputSchema && { outputSchema: JSON.parse(outputSchema) }),
  };
}

const names = new ToolNames({
  names: () => ask(() => wit.names()),
  call,
  refusal: (name) => {
    try {
      ask(() => wit.describe(name), name);
    } catch (error) {
      return error;
    }
    return undefined;
  },
});

const tools = toolsObject(
  {
    call,
    names: async (): Promise<string[]> => [...names.all],
    describe: async (name: string): Promise<object> => ask(() => toDescription(wit.describe(String(name))), name),
    search: async (text: string, limit = 10): Promise<object[]> => ask(() => [...wit.search(String(text), Number(limit))].map(toDescription)),
  },
  names,
);

serveTools(() => tools);

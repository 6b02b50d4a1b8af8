/** `ctx.tools`: the other tools of the step, as far as the operator's policy grants them. */
import * as wit from 'goondan:tool/tools';
import { serveTools } from './context';
import { fulfil, pendingPromise, refuse } from './engine/qjs/promise';
import { whenReady } from './engine/qjs/waits';
import { toValue } from './input';
import { toJson } from './output';
import { refuseAtBuild } from './snapshot';
import { placeOfCall, running, type RunningCall } from './running-calls';
import { ToolError, type Failure } from './tool-error';
import { ToolNames, toolsObject } from './tool-names';

interface Options {
  signal?: AbortSignal;
}

/** Calls that wait until there is room for another one. */
const waiting: Call[] = [];

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

/** Its members are plain: an interpreter pays for private ones in each call. */
class Call implements RunningCall {
  readonly promise = pendingPromise();
  /** The call of the host, once it has begun. The engine would drop it before its pollable, and the host expects the pollable first. */
  started: wit.Call | undefined = undefined;
  stopWaiting: (() => void) | undefined = undefined;
  abort: (() => void) | undefined = undefined;

  constructor(
    readonly name: string,
    readonly json: string,
    readonly place: { stack?: string },
    readonly signal: AbortSignal | undefined,
  ) {
    if (!signal) return;
    this.abort = () => this.stop();
    signal.addEventListener('abort', this.abort, { once: true });
  }

  get stack(): string | undefined {
    return this.place.stack;
  }

  /** Starts the call, if the host lets it. */
  begin(): void {
    if (this.signal?.aborted) return;
    try {
      this.started = wit.start(this.name, this.json);
    } catch (thrown) {
      const error = toolError(thrown, this.name);
      const isLimit = error instanceof ToolError && error.code === 'E_TOOL_CALL_LIMIT';
      if (!isLimit || running.size === 0) return this.fail(names.unknown(`tools[${JSON.stringify(this.name)}]`, error));
      // Perhaps there are too many at once. Where there are too many in all, it is refused again.
      atOnce = running.size;
      waiting.unshift(this);
      return;
    }
    running.add(this);
    this.wait();
  }

  wait(): void {
    this.stopWaiting = whenReady(this.started!.subscribe(), () => this.look());
  }

  look(): void {
    try {
      const result = this.started!.get();
      if (result === undefined || result === null) return this.wait();
      this.end();
      if (result.tag === 'err') this.fail(toolError(result.val, this.name));
      else fulfil(this.promise, toValue(result.val, `the output of ${this.name}`));
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    // Where it was called, which is more than where it ended.
    if (error instanceof ToolError) Object.defineProperty(error, 'stack', { value: this.stack, configurable: true, writable: true });
    refuse(this.promise, error);
  }

  stop(): void {
    refuse(this.promise, this.signal!.reason);
    if (!this.started) return;
    this.stopWaiting?.();
    this.started.cancel();
    this.end();
  }

  /** Drops the call, and begins another one. */
  end(): void {
    if (this.abort) this.signal!.removeEventListener('abort', this.abort);
    running.delete(this);
    this.started![Symbol.dispose]?.();
    if (waiting.length > 0) beginWaiting();
  }
}

function beginWaiting(): void {
  while (running.size < atOnce && waiting.length > 0) waiting.shift()!.begin();
}

/** Calls a tool. The promise rejects with a `ToolError`. `called`: the function by which the author called it. */
function call(name: string, args?: unknown, options?: Options, called: unknown = call): Promise<unknown> {
  refuseAtBuild('a tool is called');
  const place = placeOfCall(called);
  try {
    const signal = options?.signal;
    signal?.throwIfAborted();
    const made = new Call(String(name), toJson(args ?? {}, 'arguments'), place, signal);
    if (waiting.length > 0 || running.size >= atOnce) waiting.push(made);
    else made.begin();
    return made.promise;
  } catch (error) {
    return Promise.reject(error);
  }
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
    call: (name: string, args?: unknown, options?: Options) => call(name, args, options),
    names: async (): Promise<string[]> => [...names.all],
    describe: async (name: string): Promise<object> => ask(() => toDescription(wit.describe(String(name))), name),
    search: async (text: string, limit = 10): Promise<object[]> => ask(() => [...wit.search(String(text), Number(limit))].map(toDescription)),
  },
  names,
);

serveTools(() => tools);

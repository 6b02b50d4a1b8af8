/** `ctx.tools`: the other tools of the step, as far as the operator's policy grants them. */
import { describe, names as listNames, search, start, type Call as HostCall, type Tool } from 'goondan:tool/tools';
import { serveTools } from './context';
import { fulfil, pendingPromise, refuse } from './engine/qjs/promise';
import { stopWaiting, whenReady } from './engine/qjs/waits';
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
const waiting: [Call, json: string][] = [];

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

/** Its members are plain, and few: an interpreter pays for each in every call. */
class Call implements RunningCall {
  /** The call of the host, once it has begun. The engine would drop it before its pollable, and the host expects the pollable first. */
  declare started: HostCall | undefined;
  /** Set where the author passed a signal. */
  declare signal: AbortSignal | undefined;
  declare abort: () => void;

  constructor(
    readonly name: string,
    readonly stack: string,
    readonly promise: Promise<unknown>,
  ) {}

  /** Starts the call, if the host lets it. */
  begin(json: string): void {
    if (this.signal?.aborted) return;
    try {
      this.started = start(this.name, json);
    } catch (thrown) {
      const error = toolError(thrown, this.name);
      const isLimit = error instanceof ToolError && error.code === 'E_TOOL_CALL_LIMIT';
      if (!isLimit || running.size === 0) return this.fail(names.unknown(this.name, error));
      // Perhaps there are too many at once. Where there are too many in all, it is refused again.
      atOnce = running.size;
      waiting.unshift([this, json]);
      return;
    }
    running.add(this);
    whenReady(this.started.subscribe(), this);
  }

  ready(): void {
    const { started } = this;
    // What ran since the pollable was ready may have stopped it.
    if (!started) return;
    try {
      const result = started.get();
      if (result === undefined || result === null) return whenReady(started.subscribe(), this);
      this.end();
      if (result.tag === 'err') this.fail(toolError(result.val, this.name));
      else fulfil(this.promise, toValue(result.val, 'the output of ', this.name));
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    this.signal?.removeEventListener('abort', this.abort);
    // Where it was called, which is more than where it ended.
    if (error instanceof ToolError) Object.defineProperty(error, 'stack', { value: this.stack, configurable: true, writable: true });
    refuse(this.promise, error);
  }

  /** Lets a signal stop it. */
  stopBy(signal: AbortSignal): void {
    this.signal = signal;
    this.abort = () => {
      refuse(this.promise, signal.reason);
      if (!this.started) return;
      stopWaiting(this);
      this.started.cancel();
      this.end();
    };
    signal.addEventListener('abort', this.abort, { once: true });
  }

  /** Drops the call, and begins another one. */
  end(): void {
    running.delete(this);
    this.started![Symbol.dispose]?.();
    this.started = undefined;
    if (waiting.length > 0) beginWaiting();
  }
}

function beginWaiting(): void {
  while (running.size < atOnce && waiting.length > 0) {
    const [call, json] = waiting.shift()!;
    call.begin(json);
  }
}

/** Calls a tool. The promise rejects with a `ToolError`. `called`: the function by which the author called it. */
function call(name: string, args: unknown, options: Options | undefined, called: unknown): Promise<unknown> {
  refuseAtBuild('a tool is called');
  const stack = placeOfCall(called);
  try {
    const signal = options?.signal;
    signal?.throwIfAborted();
    const json = toJson(args ?? {}, 'arguments');
    const promise = pendingPromise();
    const made = new Call(name, stack, promise);
    if (signal) made.stopBy(signal);
    if (waiting.length > 0 || running.size >= atOnce) waiting.push([made, json]);
    else made.begin(json);
    return promise;
  } catch (error) {
    return Promise.reject(error);
  }
}

function toDescription({ name, description, parameters, outputSchema }: Tool): object {
  return {
    name,
    ...(description && { description }),
    parameters: JSON.parse(parameters),
    ...(outputSchema && { outputSchema: JSON.parse(outputSchema) }),
  };
}

const names = new ToolNames({
  names: () => ask(() => listNames()),
  call,
});

function callByName(name: string, args?: unknown, options?: Options): Promise<unknown> {
  return call(String(name), args, options, callByName);
}

const tools = toolsObject(
  {
    call: callByName,
    names: async (): Promise<string[]> => [...names.all],
    describe: async (name: string): Promise<object> => ask(() => toDescription(describe(String(name))), name),
    search: async (text: string, limit = 5): Promise<object[]> => ask(() => [...search(String(text), Number(limit))].map(toDescription)),
  },
  names,
);

serveTools(() => tools);

/** Types for editors, resolvable as `@goondan/types`, `@goondan/core` and `toolhost`. */

declare module '@goondan/types' {
  export type JsonPrimitive = string | number | boolean | null;
  export type JsonValue = JsonPrimitive | JsonObject | JsonArray;
  export type JsonObject = { [key: string]: JsonValue };
  export type JsonArray = JsonValue[];

  /** The assistant message that holds the call, as JSON. */
  export interface Message {
    readonly [key: string]: any;
  }

  /** The context of a call (tool-spec-v2 §7.3). */
  export interface ToolContext {
    readonly agentName: string;
    readonly instanceKey: string;
    readonly turnId: string;
    readonly toolCallId: string;
    /** Set if the runtime has one. */
    readonly traceId?: string;
    readonly message: Message;
    /** Always `/`: the only directory that a tool sees. */
    readonly workdir: string;
    /** Writes to the operator's log. The model never reads it. */
    readonly logger: Console;
    /** The other tools of the step, as far as the operator's policy grants them. */
    readonly tools: Tools;
  }

  /** A tool that may be called. */
  export interface ToolDescription {
    readonly name: string;
    readonly description?: string;
    /** JSON Schema of the arguments. */
    readonly parameters: JsonObject;
    /** JSON Schema of the output, if the tool says one. */
    readonly outputSchema?: JsonObject;
  }

  /** Calls a tool. The promise rejects with a `ToolError`; when `signal` is aborted, with its reason, and the call is stopped. */
  export type ToolFunction = (args?: object, options?: { signal?: AbortSignal }) => Promise<any>;

  /**
   * Other tools as functions: `await ctx.tools["file-system__read"]({ path })`, or `ctx.tools.file_system.read`, with `_`
   * for `-`, where only one tool can be meant. Calls run at the same time under `Promise.all`, up to 16 of them.
   */
  export interface Tools {
    call(name: string, args?: object, options?: { signal?: AbortSignal }): Promise<any>;
    /** Returns the tools that fit a query, the best first; none if none fits. Default `limit`: 5. */
    search(text: string, limit?: number): Promise<ToolDescription[]>;
    describe(name: string): Promise<ToolDescription>;
    names(): Promise<string[]>;
    readonly [tool: string]: any;
  }

  /** The value that `pending` returns. */
  export interface Pending {
    readonly handle: string;
  }

  export type ToolOutput = JsonValue | Pending | void;

  /**
   * Runs one handler with input that matches the manifest's `parameters`. The return value must be JSON;
   * `undefined` becomes `null`. A thrown error becomes a ToolResult with `message`, `name`, `code`,
   * `suggestion` and `helpUrl` of the error.
   */
  export type ToolHandler<Input = any> = (ctx: ToolContext, input: Input) => ToolOutput | Promise<ToolOutput>;

  export interface JsonSchemaProperty {
    type?: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';
    description?: string;
    enum?: (string | number)[];
    items?: JsonSchemaProperty;
    default?: JsonValue;
    [keyword: string]: unknown;
  }

  export interface JsonSchemaObject {
    type: 'object';
    properties?: Record<string, JsonSchemaProperty>;
    required?: string[];
    additionalProperties?: boolean;
    [keyword: string]: unknown;
  }

  /** A handler in the form of the manifest's `spec.exports`; a module may export `exports: ToolExportSpec[]`. */
  export interface ToolExportSpec {
    name: string;
    description?: string;
    parameters?: JsonSchemaObject;
  }

  /** A module whose handlers return `pending(handle)` exports `polling: ToolPolling`. */
  export interface ToolPolling {
    /** Returns the output for `handle`, or `pending(…)` again. */
    poll(ctx: ToolContext, handle: string): ToolOutput | Promise<ToolOutput>;
    /** Called when `handle` will not be polled any more. */
    cancel?(ctx: ToolContext, handle: string): void | Promise<void>;
  }
}

declare module '@goondan/core' {
  export * from '@goondan/types';
}

declare module 'toolhost' {
  import type { JsonObject, JsonSchemaObject, Pending, ToolContext } from '@goondan/types';
  export * from '@goondan/types';

  /** A number without a fraction. @integer */
  export type Integer = number;

  /** A schema of zod, valibot, arktype and others: https://standardschema.dev. */
  export interface StandardSchema<Input = unknown, Output = Input> {
    readonly '~standard': {
      readonly version: 1;
      readonly vendor: string;
      readonly validate: (value: unknown, options?: any) => any;
      readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    };
  }

  type Taken<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['input'];
  type Made<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output'];

  /** Makes a handler. `run` gets what `input` makes of the arguments: defaults and transforms apply. */
  export function tool<Input extends StandardSchema, Output extends StandardSchema>(definition: {
    description?: string;
    input: Input;
    output: Output;
    run: (ctx: ToolContext, input: Made<Input>) => Taken<Output> | Pending | Promise<Taken<Output> | Pending>;
  }): (ctx: ToolContext, input: Taken<Input>) => Promise<Made<Output>>;
  export function tool<Input extends StandardSchema, Output>(definition: {
    description?: string;
    input: Input;
    run: (ctx: ToolContext, input: Made<Input>) => Output | Promise<Output>;
  }): (ctx: ToolContext, input: Taken<Input>) => Promise<Output>;
  /** The same, with parameters as JSON Schema, or as the type of `run` says. */
  export function tool<Input, Output>(definition: {
    description?: string;
    input?: JsonSchemaObject;
    run: (ctx: ToolContext, input: Input) => Output | Promise<Output>;
  }): (ctx: ToolContext, input: Input) => Promise<Output>;
  /** Why a call of another tool failed. */
  export class ToolError extends Error {
    /** A code to branch on: the tool's own, or one of the host's, such as `E_TOOL_DENIED`. */
    readonly code?: string;
    /** The next move. */
    readonly suggestion?: string;
    readonly helpUrl?: string;
    /** The name of the tool. */
    readonly tool?: string;
    /** JSON Schema of the tool's arguments, if they were the reason. */
    readonly parameters?: JsonObject;
    readonly schema?: JsonObject;
  }
  /** Returns the value for work that is accepted but not finished; the host calls `polling` later. At most 1 KiB. */
  export function pending(handle: string): Pending;
}

/** For tools that run programs. */
declare module 'toolhost/async' {
  /** Runs what an async function is compiled to: a generator that yields what it waits for. */
  export function runAsyncFunction(self: unknown, args: ArrayLike<any>, start: (...args: any[]) => Iterator<unknown>): Promise<any>;
  /** Returns the calls of other tools that run, each with the stack of the call; not those that have lost a race. */
  export function runningCalls(): { readonly name: string; readonly stack: string | undefined; readonly promise: unknown }[];
  /** Says the stack of an `await` of the async function that runs. Returns `value`. */
  export function placeAwait<T>(value: T, stack: string): T;
  /** Returns the stacks that functions said which still wait. One that waits for another is left out. */
  export function placesOfAwaits(): string[];
  /** Whether nothing has waited for a promise. */
  export function isUnawaited(promise: unknown): boolean;
  /** Whether a promise is pending, and has not lost a race. */
  export function isRunning(promise: unknown): boolean;
  /** Has a function called, once, when all that runs waits for what never comes. It lets it end. */
  export function onceStuck(act: () => void): void;
  /** Says the stack of the call of a tool that is made next, so that it need not be looked at. Returns `argument`. */
  export function placeNextCall<T>(stack: string, argument: T): T;
}

declare module 'toolhost/agents' {
  import type { JsonObject, JsonValue } from '@goondan/types';

  interface Event {
    target: string;
    input: JsonValue;
    instanceKey?: string;
    eventType?: string;
    metadata?: JsonObject;
  }

  /** Sends a request to an agent and waits for its answer, by default at most 60,000 ms. */
  export function request(options: Event & { timeoutMs?: number; async?: boolean }): Promise<{
    target: string;
    eventId: string;
    correlationId: string;
    accepted: boolean;
    async: boolean;
    response?: JsonValue;
  }>;
  export function send(options: Event): Promise<{ target: string; eventId: string; accepted: boolean }>;
  export function spawn(target: string, instanceKey?: string): Promise<{ target: string; instanceKey: string; spawned: boolean }>;
  export function list(): Promise<{ count: number; agents: { target: string; instanceKey: string }[] }>;
  export function catalog(): Promise<{ name: string; description?: string }[]>;
}

/** What most tools use of it. `@types/node` has all. */
declare module 'node:fs/promises' {
  export function readFile(path: string | URL, options: 'utf8' | 'utf-8' | { encoding: 'utf8' | 'utf-8' }): Promise<string>;
  export function readFile(path: string | URL): Promise<Uint8Array>;
  export function writeFile(path: string | URL, data: string | ArrayBufferView, options?: 'utf8' | 'utf-8' | { flag?: string; mode?: number }): Promise<void>;
  export function appendFile(path: string | URL, data: string | Uint8Array): Promise<void>;
  export function mkdir(path: string | URL, options?: { recursive?: boolean }): Promise<string | undefined>;
  export function readdir(path: string | URL, options?: { recursive?: boolean }): Promise<string[]>;
  export function rm(path: string | URL, options?: { recursive?: boolean; force?: boolean }): Promise<void>;
  export function rename(from: string | URL, to: string | URL): Promise<void>;
  export function copyFile(from: string | URL, to: string | URL): Promise<void>;
}

/** For unit tests. `@types/node` has all. */
declare module 'node:test' {
  export function test(name: string, run: () => void | Promise<void>): void;
}

declare module 'node:assert/strict' {
  const assert: {
    equal(actual: unknown, expected: unknown): void;
    deepEqual(actual: unknown, expected: unknown): void;
    match(text: string, pattern: RegExp): void;
    throws(run: () => unknown, expected?: unknown): void;
    rejects(run: Promise<unknown> | (() => Promise<unknown>), expected?: unknown): Promise<void>;
  };
  export default assert;
}

interface ToolFile {
  readonly name: string;
  readonly type: string;
  /** Size in bytes; 0 if the file does not exist. */
  readonly size: number;
  readonly lastModified: number;
  exists(): Promise<boolean>;
  text(): Promise<string>;
  json(): Promise<any>;
  bytes(): Promise<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
  write(data: string | ArrayBuffer | ArrayBufferView | ToolFile): Promise<number>;
  delete(): Promise<void>;
}

/** The part of Bun that exists in the sandbox. */
declare var Bun: {
  file(path: string | URL, options?: { type?: string }): ToolFile;
  /** Creates the folders above the file; returns the bytes written. */
  write(target: string | URL | ToolFile, data: string | ArrayBuffer | ArrayBufferView | ToolFile): Promise<number>;
  sleep(ms: number | Date): Promise<void>;
  sleepSync(ms: number): void;
  inspect(value: unknown): string;
  deepEquals(a: unknown, b: unknown): boolean;
  nanoseconds(): number;
  readonly env: Record<string, string | undefined>;
};

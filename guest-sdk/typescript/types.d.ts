/** What a tool finds: types for editors, resolvable as `@goondan/types`, `@goondan/core` and `toolhost`. */

declare module '@goondan/types' {
  export type JsonPrimitive = string | number | boolean | null;
  export type JsonValue = JsonPrimitive | JsonObject | JsonArray;
  export type JsonObject = { [key: string]: JsonValue };
  export type JsonArray = JsonValue[];

  /** The assistant message that holds the call, as JSON. */
  export interface Message {
    readonly [key: string]: any;
  }

  /** Who calls, and on whose behalf (tool-spec-v2 §7.3). */
  export interface ToolContext {
    readonly agentName: string;
    readonly instanceKey: string;
    readonly turnId: string;
    readonly toolCallId: string;
    /** Where the runtime has one. */
    readonly traceId?: string;
    readonly message: Message;
    /** Always `/`: the one directory a tool sees. */
    readonly workdir: string;
    /** Writes to the operator's log. The model never reads it. */
    readonly logger: Console;
  }

  /** What `pending` makes. */
  export interface Pending {
    readonly handle: string;
  }

  export type ToolOutput = JsonValue | Pending | void;

  /**
   * Runs one handler with input that fits the manifest's `parameters`. What it returns must be JSON;
   * `undefined` becomes `null`. What it throws becomes a ToolResult with `message`, `name`, `code`,
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

  /** A handler as the manifest's `spec.exports` has it; a module may export `exports: ToolExportSpec[]`. */
  export interface ToolExportSpec {
    name: string;
    description?: string;
    parameters?: JsonSchemaObject;
  }

  /** A module whose handlers return `pending(handle)` exports `polling: ToolPolling`. */
  export interface ToolPolling {
    /** Answers what `handle` stands for: the output, or `pending(…)` again. */
    poll(ctx: ToolContext, handle: string): ToolOutput | Promise<ToolOutput>;
    /** Told that nobody waits for `handle` any longer. */
    cancel?(ctx: ToolContext, handle: string): void | Promise<void>;
  }
}

declare module '@goondan/core' {
  export * from '@goondan/types';
}

declare module 'toolhost' {
  import type { Pending } from '@goondan/types';
  export * from '@goondan/types';
  /** Says that work is accepted but not done; the host asks again through `polling`. At most 1 KiB. */
  export function pending(handle: string): Pending;
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

  /** Asks an agent and waits for its answer, by default at most 60,000 ms. */
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

interface ToolFile {
  readonly name: string;
  readonly type: string;
  /** Bytes; 0 where there is no such file. */
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

/** What there is of Bun in the sandbox. */
declare var Bun: {
  file(path: string | URL, options?: { type?: string }): ToolFile;
  /** Makes the folders above the file; returns bytes written. */
  write(target: string | URL | ToolFile, data: string | ArrayBuffer | ArrayBufferView | ToolFile): Promise<number>;
  sleep(ms: number | Date): Promise<void>;
  sleepSync(ms: number): void;
  inspect(value: unknown): string;
  deepEquals(a: unknown, b: unknown): boolean;
  nanoseconds(): number;
  readonly env: Record<string, string | undefined>;
};

import type { Connection } from './connection.js';
import { ClosedWithError } from './errors.js';
import type {
  AnswerFormat, CatalogFormat, ExecutedMessage, Json, ToolCall, ToolError, ToolResult, TurnStatus,
} from './types.js';

/** Options of a call. */
export interface CallOptions {
  /** The assistant's message that contains the call, as the model's provider sent it. */
  message?: Json;
  /** Adds the resources that the call used. */
  usage?: boolean;
  /** Stops the call. */
  signal?: AbortSignal;
}

/** Options of a message. */
export interface MessageOptions {
  /** Format of the answers. Default: `openai`. */
  format?: AnswerFormat;
  /** Adds the resources that each call used. */
  usage?: boolean;
  /** Stops the calls. */
  signal?: AbortSignal;
}

type Closed = { answer: Json } | { error: ToolError };

async function closed(connection: Connection, method: string, params: object): Promise<Json> {
  const end = (await connection.request(method, params)) as Closed;
  if ('error' in end) throw new ClosedWithError(end.error);
  return end.answer;
}

/** Splits the signal from the parameters. */
export function split<T extends { signal?: AbortSignal }>({ signal, ...params }: T) {
  return { signal, params };
}

/** The steps of an agent for one input. Close it, so that its middleware runs to the end. */
export class Turn {
  constructor(
    private readonly connection: Connection,
    readonly id: string,
    readonly traceId: string,
    /** Tools of which one must succeed in the turn. */
    readonly requiredTools: string[],
  ) {}

  /** Opens a step. Its tools do not change. */
  async openStep(options: { format?: CatalogFormat } = {}): Promise<Step> {
    const opened = await this.connection.request('step/open', { turn: this.id, ...options });
    const { step, tools } = opened as { step: string; tools: Json[] };
    return new Step(this.connection, step, tools);
  }

  async status(): Promise<TurnStatus> {
    return (await this.connection.request('turn/status', { turn: this.id })) as TurnStatus;
  }

  /** Polls a pending call: its result, or `pending` again. */
  async poll(handle: string): Promise<ToolResult> {
    return (await this.connection.request('call/poll', { turn: this.id, handle })) as ToolResult;
  }

  /** Cancels a pending call. */
  async cancel(handle: string): Promise<ToolResult> {
    return (await this.connection.request('call/cancel', { turn: this.id, handle })) as ToolResult;
  }

  /** Ends the turn. Returns the answer, as middleware left it. */
  close(answer: Json = null): Promise<Json> {
    return closed(this.connection, 'turn/close', { turn: this.id, answer });
  }

  /** Ends the turn with an error; a middleware may still make an answer of it. */
  fail(error: Partial<ToolError> & { message: string }): Promise<Json> {
    return closed(this.connection, 'turn/close', { turn: this.id, error });
  }
}

/** The tools that a model sees at one time, and their calls, which may run at once. */
export class Step {
  constructor(
    private readonly connection: Connection,
    readonly id: string,
    /** The tools, in the format that was asked for. */
    readonly tools: Json[],
  ) {}

  /** Executes the calls of the assistant's message at the same time. */
  async executeAll(message: Json, options: MessageOptions = {}): Promise<ExecutedMessage> {
    const { signal, params } = split(options);
    const request = { step: this.id, message, ...params };
    return (await this.connection.request('message/execute', request, signal)) as unknown as ExecutedMessage;
  }

  /** Executes a call. A failed call is a result too. */
  async execute(call: ToolCall, options: CallOptions = {}): Promise<ToolResult> {
    const { signal, params } = split(options);
    const request = { step: this.id, call, ...params };
    return (await this.connection.request('call/execute', request, signal)) as ToolResult;
  }

  /** Executes a call in the background: the result is `pending` with a handle. */
  async submit(call: ToolCall, options: CallOptions = {}): Promise<ToolResult> {
    const { signal, params } = split(options);
    const request = { step: this.id, call, ...params };
    return (await this.connection.request('call/submit', request, signal)) as ToolResult;
  }

  /** Ends the step. Returns the answer, as middleware left it. */
  close(answer: Json = null): Promise<Json> {
    return closed(this.connection, 'step/close', { step: this.id, answer });
  }

  /** Ends the step with an error; a middleware may still make an answer of it. */
  fail(error: Partial<ToolError> & { message: string }): Promise<Json> {
    return closed(this.connection, 'step/close', { step: this.id, error });
  }
}

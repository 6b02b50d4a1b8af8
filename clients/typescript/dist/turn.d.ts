import type { Connection } from './connection.js';
import type { AnswerFormat, CatalogFormat, ExecutedMessage, Json, ToolCall, ToolError, ToolResult, TurnStatus } from './types.js';
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
/** Splits the signal from the parameters. */
export declare function split<T extends {
    signal?: AbortSignal;
}>({ signal, ...params }: T): {
    signal: AbortSignal | undefined;
    params: Omit<T, "signal">;
};
/** The steps of an agent for one input. Close it, so that its middleware runs to the end. */
export declare class Turn {
    private readonly connection;
    readonly id: string;
    readonly traceId: string;
    /** Tools of which one must succeed in the turn. */
    readonly requiredTools: string[];
    constructor(connection: Connection, id: string, traceId: string, 
    /** Tools of which one must succeed in the turn. */
    requiredTools: string[]);
    /** Opens a step. Its tools do not change. */
    openStep(options?: {
        format?: CatalogFormat;
    }): Promise<Step>;
    status(): Promise<TurnStatus>;
    /** Polls a pending call: its result, or `pending` again. */
    poll(handle: string): Promise<ToolResult>;
    /** Cancels a pending call. */
    cancel(handle: string): Promise<ToolResult>;
    /** Ends the turn. Returns the answer, as middleware left it. */
    close(answer?: Json): Promise<Json>;
    /** Ends the turn with an error; a middleware may still make an answer of it. */
    fail(error: Partial<ToolError> & {
        message: string;
    }): Promise<Json>;
}
/** The tools that a model sees at one time, and their calls, which may run at once. */
export declare class Step {
    private readonly connection;
    readonly id: string;
    /** The tools, in the format that was asked for. */
    readonly tools: Json[];
    constructor(connection: Connection, id: string, 
    /** The tools, in the format that was asked for. */
    tools: Json[]);
    /** Executes the calls of the assistant's message at the same time. */
    executeAll(message: Json, options?: MessageOptions): Promise<ExecutedMessage>;
    /** Executes a call. A failed call is a result too. */
    execute(call: ToolCall, options?: CallOptions): Promise<ToolResult>;
    /** Executes a call in the background: the result is `pending` with a handle. */
    submit(call: ToolCall, options?: CallOptions): Promise<ToolResult>;
    /** Ends the step. Returns the answer, as middleware left it. */
    close(answer?: Json): Promise<Json>;
    /** Ends the step with an error; a middleware may still make an answer of it. */
    fail(error: Partial<ToolError> & {
        message: string;
    }): Promise<Json>;
}

/** Runs tools in toolhost: a client of `toolhost rpc`. */
import { type CallOptions, Turn } from './turn.js';
import type { AgentInfo, CatalogFormat, HostEvent, HostInfo, Instance, Json, LoadedBundle, Sendable, ToolCall, ToolResult, Undone, UndoRecord, Approval } from './types.js';
export * from './errors.js';
export * from './types.js';
export { Step, Turn, type CallOptions, type MessageOptions } from './turn.js';
/** Options of a server that the client starts: those of `toolhost rpc`. */
export interface SpawnOptions {
    /** The bundle. Without it, load one with {@link Toolhost.loadBundle}. */
    bundle?: string;
    agent?: string;
    instance?: string;
    workdir?: string;
    policy?: string;
    /** A file of who may decide about calls that wait: lines `NAME TOKEN`. */
    approvers?: string;
    stateRoot?: string;
    /** Which tools {@link Toolhost.catalog} and steps have. Default: `direct`, all. */
    tools?: 'direct' | 'search' | 'script' | 'both';
    /** The program. Default: `toolhost` of the search path. */
    program?: string;
    env?: NodeJS.ProcessEnv;
    /** Where the server's log goes. Default: `inherit`. */
    stderr?: 'inherit' | 'ignore';
}
/** A connection to a server. `close` ends it. */
export declare class Toolhost {
    #private;
    private constructor();
    /** Starts a server, which ends with this process or with {@link close}. */
    static spawn(options?: SpawnOptions): Toolhost;
    /** Connects to the socket of a server that was started with `toolhost rpc --socket PATH`. */
    static connect(path: string): Promise<Toolhost>;
    /** Sends a request of docs/rpc.md. */
    request(method: string, params?: object, signal?: AbortSignal): Promise<unknown>;
    /** Describes the server and its limits. */
    info(): Promise<HostInfo>;
    /** Loads a bundle. */
    loadBundle(path: string): Promise<LoadedBundle>;
    unloadBundle(bundle: string): Promise<void>;
    agents(bundle?: string): Promise<AgentInfo[]>;
    /** Returns the tools with which an agent's next step starts. */
    catalog(options?: {
        bundle?: string;
        agent?: string;
        format?: CatalogFormat;
    }): Promise<Json[]>;
    /** Opens a turn. `input` is for middleware, `subject` the user whose grants of OAuthApps the calls use. */
    openTurn(options?: {
        instance?: Instance;
        input?: Json;
        traceId?: string;
        subject?: string;
    }): Promise<Turn>;
    /** Executes one call in a turn of its own. */
    execute(call: ToolCall, options?: CallOptions & {
        instance?: Instance;
    }): Promise<ToolResult>;
    /**
     * Executes a program that calls tools, in a turn of its own: a call of `javascript__script` or `python__script`. The
     * output's `result` is what the program returns. It finds `args` as `args`.
     */
    script(language: 'javascript' | 'python', code: string, { args, ...options }?: CallOptions & {
        args?: Sendable;
        instance?: Instance;
    }): Promise<ToolResult>;
    /** Executes one call in the background: the result is `pending` with a handle. */
    submit(call: ToolCall, options?: CallOptions & {
        instance?: Instance;
    }): Promise<ToolResult>;
    /** Polls a pending call: its result, or `pending` again. */
    poll(handle: string, instance?: Instance): Promise<ToolResult>;
    /** Cancels a pending call. */
    cancel(handle: string, instance?: Instance): Promise<ToolResult>;
    /** Lists the calls in an instance's workdir that can be undone, the newest first. */
    undoList(instance?: Instance): Promise<UndoRecord[]>;
    /** Undoes the newest call in an instance's workdir, or the one with this id. */
    undo(id?: string, instance?: Instance): Promise<Undone>;
    /** Lists the calls that wait for consent, the newest first. `token` is that of an approver, which no agent has. */
    approvals(token: string, options?: {
        all?: boolean;
    }): Promise<Approval[]>;
    /** Returns one approval, with all that the call would do. */
    approval(token: string, id: string): Promise<Approval>;
    /** Lets a call do what it waits for. */
    approve(token: string, id: string, why?: string): Promise<Approval>;
    /** Refuses what a call waits for; the model reads why. */
    deny(token: string, id: string, why?: string): Promise<Approval>;
    /** Subscribes to events, in place of an earlier subscription, until the loop over them is left. */
    events(filter?: {
        agent?: string;
        key?: string;
    }): Promise<AsyncIterableIterator<HostEvent>>;
    /** Ends the connection, and a server that was started for it. Calls that run are stopped. */
    close(): Promise<void>;
}

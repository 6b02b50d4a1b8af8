/** The messages of `toolhost rpc`; docs/rpc.md describes them. */
/** What the server sends. An integer beyond ±(2^53 - 1) arrives as the text of its digits. */
export type Json = null | boolean | number | string | Json[] | {
    [key: string]: Json;
};
/** What the server gets. A BigInt is sent with all its digits. */
export type Sendable = null | boolean | number | bigint | string | Sendable[] | {
    [key: string]: Sendable;
};
/** A call of a tool, as a model makes it. */
export interface ToolCall {
    id: string;
    /** Name of the tool, such as `text__upper`. */
    name: string;
    args?: {
        [key: string]: Sendable;
    };
}
/** The error of a failed call. */
export interface ToolError {
    message: string;
    name?: string;
    /** For branching, such as `E_TOOL_TIMEOUT`, or a code of the tool's. */
    code: string;
    /** What to do next. */
    suggestion?: string;
    helpUrl?: string;
}
/** What a call returns; a failed call returns a result too. */
export type ToolResult = {
    toolCallId: string;
    toolName: string;
    /** The resources that the call used, if they were asked for. */
    usage?: {
        [key: string]: Json;
    };
    /** The files that the call changed in its workdir, with `usage`. */
    changes?: {
        files: FileChange[];
        truncated: boolean;
    };
    /** Path of the recording of a failed call, with `usage`. */
    recording?: string;
} & ({
    status: 'ok';
    output: Json;
} | {
    status: 'pending';
    handle: string;
    details?: AwaitingApproval;
} | {
    status: 'error';
    error: ToolError;
});
/** Why a result is pending: the call waits until a person consents. */
export interface AwaitingApproval {
    reason: 'awaiting-approval';
    effect: 'call' | 'workdir' | 'http' | 'agents';
    /** Until when somebody may decide. */
    expiresAt: string;
}
/** A call that waits or waited for consent; docs/approvals.md describes `what`. */
export interface Approval {
    id: string;
    handle: string;
    state: 'waiting' | 'approved' | 'denied' | 'expired' | 'ended';
    bundle: string;
    agent: string;
    instance: string;
    callId: string;
    tool: string;
    effect: AwaitingApproval['effect'];
    /** Null in lists, if it has more than 64 KiB, and once the call was cancelled before anybody decided. */
    what: {
        [key: string]: Json;
    } | null;
    /** Whether the call still waits for it: what was decided is not done yet. */
    isOpen: boolean;
    digest: string;
    createdAt: string;
    expiresAt: string;
    decision?: {
        by: string;
        at: string;
        why?: string;
    };
}
/** A file of the workdir that a call changed. */
export interface FileChange {
    path: string;
    kind: 'created' | 'changed' | 'deleted' | 'renamed';
    /** The path before the call, if the file was renamed. */
    from?: string;
    /** `sha256:` and the digest of its bytes after the call. */
    digest?: string;
}
/** A call that can be undone. */
export interface UndoRecord {
    id: string;
    /** Name of the tool and id of the call. */
    call: string;
    /** When its changes were committed. */
    committed: string;
    files: string[];
    /** Bytes on disk of the files that it replaced or deleted. */
    bytes: number;
}
/** A call that was undone, and the files that are as they were before it. */
export interface Undone {
    id: string;
    call: string;
    files: string[];
}
/** The results of a message's calls, and the answers for the model, both in the order of the calls. */
export interface ExecutedMessage {
    results: ToolResult[];
    answers: Json[];
}
/** A finding in a bundle. */
export interface Diagnostic {
    severity: 'error' | 'warning' | 'note';
    code: string;
    message: string;
    file: string;
    line?: number;
    column?: number;
    help: string;
}
/** An instance of an agent: one conversation, one workspace. */
export interface Instance {
    /** Id of a bundle that {@link Toolhost.loadBundle} returned. */
    bundle?: string;
    agent?: string;
    key?: string;
    /** Directory that the tools see as `/`. Default: the instance's own workspace. */
    workdir?: string;
}
/** Format of tools: the specification's, or that of a model's provider. */
export type CatalogFormat = 'json' | 'openai' | 'anthropic' | 'mcp';
/** Format of the answers to a model. */
export type AnswerFormat = 'openai' | 'anthropic' | 'ai-sdk' | 'mcp';
export interface AgentInfo {
    name: string;
    tools: string[];
    requiredTools: string[];
}
export interface LoadedBundle {
    bundle: string;
    agents: AgentInfo[];
    diagnostics: Diagnostic[];
}
export interface HostInfo {
    name: string;
    version: string;
    protocol: number;
    servesBundle: boolean;
    limits: {
        [name: string]: number;
    };
}
export interface TurnStatus {
    turn: string;
    traceId: string;
    requiredTools: string[];
    requiredToolsSatisfied: boolean;
    steps: string[];
}
/**
 * An event of a turn, a step or a call, such as `tool.completed`; or how many were lost. `auth.granted` has
 * `auth` in place of `agentName`, `instanceKey` and `turnId`.
 */
export type HostEvent = {
    type: string;
    timestamp: string;
    agentName: string;
    instanceKey: string;
    turnId: string;
    [field: string]: Json;
} | {
    type: 'lost';
    count: number;
};

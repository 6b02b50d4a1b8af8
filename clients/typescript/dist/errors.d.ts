import type { Diagnostic, ToolError } from './types.js';
/** The server could not carry out a request. A failed call of a tool is a result, not this error. */
export declare class RpcError extends Error {
    /** The number of JSON-RPC. */
    readonly number: number;
    /** For branching, such as `E_RPC_NOT_FOUND`. */
    readonly code: string;
    /** What to do next. */
    readonly suggestion: string;
    /** The findings, if a bundle did not load. */
    readonly diagnostics: Diagnostic[];
    name: string;
    constructor(
    /** The number of JSON-RPC. */
    number: number, message: string, 
    /** For branching, such as `E_RPC_NOT_FOUND`. */
    code: string, 
    /** What to do next. */
    suggestion: string, 
    /** The findings, if a bundle did not load. */
    diagnostics: Diagnostic[]);
}
/** The server could not be reached, or the connection ended. */
export declare class ConnectionError extends Error {
    name: string;
}
/** A turn or a step ended with an error. */
export declare class ClosedWithError extends Error {
    readonly error: ToolError;
    name: string;
    constructor(error: ToolError);
}

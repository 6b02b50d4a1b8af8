/** The server could not carry out a request. A failed call of a tool is a result, not this error. */
export class RpcError extends Error {
    number;
    code;
    suggestion;
    diagnostics;
    name = 'RpcError';
    constructor(
    /** The number of JSON-RPC. */
    number, message, 
    /** For branching, such as `E_RPC_NOT_FOUND`. */
    code, 
    /** What to do next. */
    suggestion, 
    /** The findings, if a bundle did not load. */
    diagnostics) {
        super(message);
        this.number = number;
        this.code = code;
        this.suggestion = suggestion;
        this.diagnostics = diagnostics;
    }
}
/** The server could not be reached, or the connection ended. */
export class ConnectionError extends Error {
    name = 'ConnectionError';
}
/** A turn or a step ended with an error. */
export class ClosedWithError extends Error {
    error;
    name = 'ClosedWithError';
    constructor(error) {
        super(`${error.code}: ${error.message}`);
        this.error = error;
    }
}

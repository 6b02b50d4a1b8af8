import type { Diagnostic, ToolError } from './types.js';

/** The server could not carry out a request. A failed call of a tool is a result, not this error. */
export class RpcError extends Error {
  override name = 'RpcError';

  constructor(
    /** The number of JSON-RPC. */
    readonly number: number,
    message: string,
    /** For branching, such as `E_RPC_NOT_FOUND`. */
    readonly code: string,
    /** What to do next. */
    readonly suggestion: string,
    /** The findings, if a bundle did not load. */
    readonly diagnostics: Diagnostic[],
  ) {
    super(message);
  }
}

/** The server could not be reached, or the connection ended. */
export class ConnectionError extends Error {
  override name = 'ConnectionError';
}

/** A turn or a step ended with an error. */
export class ClosedWithError extends Error {
  override name = 'ClosedWithError';

  constructor(readonly error: ToolError) {
    super(`${error.code}: ${error.message}`);
  }
}

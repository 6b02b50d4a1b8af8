import type { Readable, Writable } from 'node:stream';
/** JSON-RPC over two streams, one message per line. */
export declare class Connection {
    #private;
    private readonly writer;
    /** Receives the notifications of the server. */
    onNotification: (method: string, params: unknown) => void;
    /** Is called once, when the connection has ended. */
    onEnd: () => void;
    constructor(reader: Readable, writer: Writable, 
    /** Says why the server closed the connection. */
    reason?: () => Promise<string>);
    /** Sends a request. When `signal` aborts, the server drops it, and the promise rejects with the reason. */
    request(method: string, params: object, signal?: AbortSignal): Promise<unknown>;
    /** Rejects the requests that are not answered, and those to come. */
    end(reason: string): void;
}

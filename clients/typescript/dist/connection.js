import { ConnectionError, RpcError } from './errors.js';
import { fromJson, toJson } from './json.js';
/** JSON-RPC over two streams, one message per line. */
export class Connection {
    writer;
    #waiting = new Map();
    #lastId = 0;
    #parts = [];
    #ended;
    /** Receives the notifications of the server. */
    onNotification = () => { };
    /** Is called once, when the connection has ended. */
    onEnd = () => { };
    /** `lost` is called when a stream has closed or failed: it ends the connection, at once or with a better reason. */
    constructor(reader, writer, lost = (reason) => this.end(reason)) {
        this.writer = writer;
        reader.on('data', (chunk) => this.#receive(chunk));
        reader.on('close', () => lost('the server has closed the connection'));
        reader.on('error', (error) => lost(error.message));
        writer.on('error', (error) => lost(error.message));
    }
    /** Sends a request. When `signal` aborts, the server drops it, and the promise rejects with the reason. */
    request(method, params, signal) {
        signal?.throwIfAborted();
        if (this.#ended)
            return Promise.reject(this.#ended);
        let text;
        try {
            text = toJson(params);
        }
        catch (error) {
            return Promise.reject(error);
        }
        const id = ++this.#lastId;
        return new Promise((resolve, reject) => {
            const abort = () => this.#send(`"method":"$/cancel","params":{"id":${id}}`);
            const done = (settle) => (value) => {
                signal?.removeEventListener('abort', abort);
                settle(value);
            };
            signal?.addEventListener('abort', abort, { once: true });
            this.#waiting.set(id, { resolve: done(resolve), reject: done(reject), signal });
            this.#send(`"id":${id},"method":${JSON.stringify(method)},"params":${text}`);
        });
    }
    /** Rejects the requests that are not answered, and those to come. */
    end(reason) {
        if (this.#ended)
            return;
        this.#ended = new ConnectionError(reason);
        for (const { reject } of this.#waiting.values())
            reject(this.#ended);
        this.#waiting.clear();
        this.onEnd();
    }
    #send(members) {
        if (!this.#ended)
            this.writer.write(`{"jsonrpc":"2.0",${members}}\n`);
    }
    #receive(chunk) {
        let start = 0;
        for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
            const line = Buffer.concat([...this.#parts, chunk.subarray(start, end)]).toString();
            this.#parts = [];
            start = end + 1;
            this.#handle(line);
        }
        this.#parts.push(chunk.subarray(start));
    }
    #handle(line) {
        let message;
        try {
            message = fromJson(line);
        }
        catch {
            this.end(`the server sent a line that is not JSON: ${line.slice(0, 80)}`);
            return;
        }
        if (message.method !== undefined) {
            this.onNotification(message.method, message.params);
        }
        else if (typeof message.id === 'number') {
            const waiting = this.#waiting.get(message.id);
            this.#waiting.delete(message.id);
            if (waiting)
                settle(waiting, message);
        }
        else {
            this.end(`the server could not read a message: ${message.error?.message}`);
        }
    }
}
function settle({ resolve, reject, signal }, { result, error }) {
    if (!error) {
        resolve(result);
    }
    else if (signal?.aborted && error.data?.code === 'E_RPC_CANCELLED') {
        reject(signal.reason);
    }
    else {
        const { code = '', suggestion = '', diagnostics = [] } = error.data ?? {};
        reject(new RpcError(error.code, error.message, code, suggestion, diagnostics));
    }
}

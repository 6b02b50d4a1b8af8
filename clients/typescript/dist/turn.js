import { ClosedWithError } from './errors.js';
async function closed(connection, method, params) {
    const end = (await connection.request(method, params));
    if ('error' in end)
        throw new ClosedWithError(end.error);
    return end.answer;
}
/** Splits the signal from the parameters. */
export function split({ signal, ...params }) {
    return { signal, params };
}
/** The steps of an agent for one input. Close it, so that its middleware runs to the end. */
export class Turn {
    connection;
    id;
    traceId;
    requiredTools;
    constructor(connection, id, traceId, 
    /** Tools of which one must succeed in the turn. */
    requiredTools) {
        this.connection = connection;
        this.id = id;
        this.traceId = traceId;
        this.requiredTools = requiredTools;
    }
    /** Opens a step. Its tools do not change. */
    async openStep(options = {}) {
        const opened = await this.connection.request('step/open', { turn: this.id, ...options });
        const { step, tools } = opened;
        return new Step(this.connection, step, tools);
    }
    async status() {
        return (await this.connection.request('turn/status', { turn: this.id }));
    }
    /** Polls a pending call: its result, or `pending` again. */
    async poll(handle) {
        return (await this.connection.request('call/poll', { turn: this.id, handle }));
    }
    /** Cancels a pending call. */
    async cancel(handle) {
        return (await this.connection.request('call/cancel', { turn: this.id, handle }));
    }
    /** Ends the turn. Returns the answer, as middleware left it. */
    close(answer = null) {
        return closed(this.connection, 'turn/close', { turn: this.id, answer });
    }
    /** Ends the turn with an error; a middleware may still make an answer of it. */
    fail(error) {
        return closed(this.connection, 'turn/close', { turn: this.id, error });
    }
}
/** The tools that a model sees at one time, and their calls, which may run at once. */
export class Step {
    connection;
    id;
    tools;
    constructor(connection, id, 
    /** The tools, in the format that was asked for. */
    tools) {
        this.connection = connection;
        this.id = id;
        this.tools = tools;
    }
    /** Executes the calls of the assistant's message at the same time. */
    async executeAll(message, options = {}) {
        const { signal, params } = split(options);
        const request = { step: this.id, message, ...params };
        return (await this.connection.request('message/execute', request, signal));
    }
    /** Executes a call. A failed call is a result too. */
    async execute(call, options = {}) {
        const { signal, params } = split(options);
        const request = { step: this.id, call, ...params };
        return (await this.connection.request('call/execute', request, signal));
    }
    /** Executes a call in the background: the result is `pending` with a handle. */
    async submit(call, options = {}) {
        const { signal, params } = split(options);
        const request = { step: this.id, call, ...params };
        return (await this.connection.request('call/submit', request, signal));
    }
    /** Ends the step. Returns the answer, as middleware left it. */
    close(answer = null) {
        return closed(this.connection, 'step/close', { step: this.id, answer });
    }
    /** Ends the step with an error; a middleware may still make an answer of it. */
    fail(error) {
        return closed(this.connection, 'step/close', { step: this.id, error });
    }
}

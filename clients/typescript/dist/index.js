/** Runs tools in toolhost: a client of `toolhost rpc`. */
import { connect } from 'node:net';
import { resolve } from 'node:path';
import { Connection } from './connection.js';
import { ConnectionError } from './errors.js';
import { EventQueue } from './events.js';
import { spawnServer } from './server.js';
import { split, Turn } from './turn.js';
export * from './errors.js';
export * from './types.js';
export { Step, Turn } from './turn.js';
/** A connection to a server. `close` ends it. */
export class Toolhost {
    #connection;
    #close;
    #events;
    constructor(connection, close) {
        this.#connection = connection;
        this.#close = close;
        connection.onNotification = (method, params) => {
            if (method === 'events/event')
                this.#events?.push(params);
            if (method === 'events/lost')
                this.#events?.push({ type: 'lost', ...params });
        };
        connection.onEnd = () => this.#events?.end();
    }
    /** Starts a server, which ends with this process or with {@link close}. */
    static spawn(options = {}) {
        const { bundle, program = 'toolhost', env, stderr = 'inherit', stateRoot, ...named } = options;
        const words = Object.entries({ ...named, 'state-root': stateRoot })
            .flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
        const args = ['rpc', ...words, ...(bundle === undefined ? [] : ['--', bundle])];
        const server = spawnServer(program, args, env, stderr);
        return new Toolhost(new Connection(server.reader, server.writer, server.reason), server.end);
    }
    /** Connects to the socket of a server that was started with `toolhost rpc --socket PATH`. */
    static connect(path) {
        return new Promise((done, fail) => {
            const socket = connect({ path });
            socket.once('error', (error) => fail(new ConnectionError(error.message)));
            socket.once('connect', () => {
                const ended = new Promise((closed) => socket.once('close', () => closed()));
                const close = () => (socket.destroy(), ended);
                done(new Toolhost(new Connection(socket, socket), close));
            });
        });
    }
    /** Sends a request of docs/rpc.md. */
    request(method, params = {}, signal) {
        return this.#connection.request(method, params, signal);
    }
    /** Describes the server and its limits. */
    async info() {
        return (await this.request('host/info'));
    }
    /** Loads a bundle. */
    async loadBundle(path) {
        return (await this.request('bundle/load', { path: resolve(path) }));
    }
    async unloadBundle(bundle) {
        await this.request('bundle/unload', { bundle });
    }
    async agents(bundle) {
        return (await this.request('agents/list', { bundle })).agents;
    }
    /** Returns the tools with which an agent's next step starts. */
    async catalog(options = {}) {
        return (await this.request('catalog/get', options)).tools;
    }
    /** Opens a turn. `input` is for middleware, `subject` the user whose grants of OAuthApps the calls use. */
    async openTurn(options = {}) {
        const opened = await this.request('turn/open', { ...options, instance: located(options.instance) });
        const { turn, traceId, requiredTools } = opened;
        return new Turn(this.#connection, turn, traceId, requiredTools);
    }
    /** Executes one call in a turn of its own. */
    async execute(call, options = {}) {
        const { signal, params } = split(options);
        const request = { call, ...params, instance: located(options.instance) };
        return (await this.request('call/execute', request, signal));
    }
    /**
     * Executes a program that calls tools, in a turn of its own: a call of `javascript__script` or `python__script`. The
     * output's `result` is what the program returns. It finds `args` as `args`.
     */
    script(language, code, { args, ...options } = {}) {
        const given = args === undefined ? { code } : { code, args };
        return this.execute({ id: 'script', name: `${language}__script`, args: given }, options);
    }
    /** Executes one call in the background: the result is `pending` with a handle. */
    async submit(call, options = {}) {
        const { signal, params } = split(options);
        const request = { call, ...params, instance: located(options.instance) };
        return (await this.request('call/submit', request, signal));
    }
    /** Polls a pending call: its result, or `pending` again. */
    async poll(handle, instance) {
        return (await this.request('call/poll', { handle, instance: located(instance) }));
    }
    /** Cancels a pending call. */
    async cancel(handle, instance) {
        return (await this.request('call/cancel', { handle, instance: located(instance) }));
    }
    /** Lists the calls in an instance's workdir that can be undone, the newest first. */
    async undoList(instance) {
        return (await this.request('undo/list', { instance: located(instance) })).calls;
    }
    /** Undoes the newest call in an instance's workdir, or the one with this id. */
    async undo(id, instance) {
        return (await this.request('undo/run', { id, instance: located(instance) })).undone;
    }
    /** Lists the calls that wait for consent, the newest first. `token` is that of an approver, which no agent has. */
    async approvals(token, options = {}) {
        const listed = await this.request('approvals/list', { token, all: options.all ?? false });
        return listed.approvals;
    }
    /** Returns one approval, with all that the call would do. */
    async approval(token, id) {
        return (await this.request('approvals/get', { token, id })).approval;
    }
    /** Lets a call do what it waits for. */
    async approve(token, id, why) {
        return (await this.request('approvals/approve', { token, id, why })).approval;
    }
    /** Refuses what a call waits for; the model reads why. */
    async deny(token, id, why) {
        return (await this.request('approvals/deny', { token, id, why })).approval;
    }
    /** Subscribes to events, in place of an earlier subscription, until the loop over them is left. */
    async events(filter = {}) {
        this.#events?.end();
        const events = new EventQueue(async () => {
            if (this.#events !== events)
                return;
            this.#events = undefined;
            await this.request('events/unsubscribe').catch(() => { });
        });
        this.#events = events;
        await this.request('events/subscribe', filter);
        return events;
    }
    /** Ends the connection, and a server that was started for it. Calls that run are stopped. */
    close() {
        this.#connection.end('the connection was closed');
        return this.#close();
    }
}
/** The server takes absolute paths: its current directory may be another. */
function located(instance) {
    return instance?.workdir === undefined ? instance : { ...instance, workdir: resolve(instance.workdir) };
}

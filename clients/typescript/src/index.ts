/** Runs tools in toolhost: a client of `toolhost rpc`. */

import { connect } from 'node:net';
import { resolve } from 'node:path';

import { Connection } from './connection.js';
import { ConnectionError } from './errors.js';
import { EventQueue } from './events.js';
import { spawnServer } from './server.js';
import { type CallOptions, split, Turn } from './turn.js';
import type {
  AgentInfo, CatalogFormat, HostEvent, HostInfo, Instance, Json, LoadedBundle, Sendable, ToolCall, ToolResult,
  Undone, UndoRecord, Approval,
} from './types.js';

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
export class Toolhost {
  #connection: Connection;
  #close: () => Promise<void>;
  #events: EventQueue | undefined;

  private constructor(connection: Connection, close: () => Promise<void>) {
    this.#connection = connection;
    this.#close = close;
    connection.onNotification = (method, params) => {
      if (method === 'events/event') this.#events?.push(params as HostEvent);
      if (method === 'events/lost') this.#events?.push({ type: 'lost', ...(params as { count: number }) });
    };
    connection.onEnd = () => this.#events?.end();
  }

  /** Starts a server, which ends with this process or with {@link close}. */
  static spawn(options: SpawnOptions = {}): Toolhost {
    const { bundle, program = 'toolhost', env, stderr = 'inherit', stateRoot, ...named } = options;
    const words = Object.entries({ ...named, 'state-root': stateRoot })
      .flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
    const args = ['rpc', ...words, ...(bundle === undefined ? [] : ['--', bundle])];
    const server = spawnServer(program, args, env, stderr);
    return new Toolhost(new Connection(server.reader, server.writer, server.reason), server.end);
  }

  /** Connects to the socket of a server that was started with `toolhost rpc --socket PATH`. */
  static connect(path: string): Promise<Toolhost> {
    return new Promise((done, fail) => {
      const socket = connect({ path });
      socket.once('error', (error) => fail(new ConnectionError(error.message)));
      socket.once('connect', () => {
        const ended = new Promise<void>((closed) => socket.once('close', () => closed()));
        const close = () => (socket.destroy(), ended);
        done(new Toolhost(new Connection(socket, socket), close));
      });
    });
  }

  /** Sends a request of docs/rpc.md. */
  request(method: string, params: object = {}, signal?: AbortSignal): Promise<unknown> {
    return this.#connection.request(method, params, signal);
  }

  /** Describes the server and its limits. */
  async info(): Promise<HostInfo> {
    return (await this.request('host/info')) as HostInfo;
  }

  /** Loads a bundle. */
  async loadBundle(path: string): Promise<LoadedBundle> {
    return (await this.request('bundle/load', { path: resolve(path) })) as LoadedBundle;
  }

  async unloadBundle(bundle: string): Promise<void> {
    await this.request('bundle/unload', { bundle });
  }

  async agents(bundle?: string): Promise<AgentInfo[]> {
    return ((await this.request('agents/list', { bundle })) as { agents: AgentInfo[] }).agents;
  }

  /** Returns the tools with which an agent's next step starts. */
  async catalog(options: { bundle?: string; agent?: string; format?: CatalogFormat } = {}): Promise<Json[]> {
    return ((await this.request('catalog/get', options)) as { tools: Json[] }).tools;
  }

  /** Opens a turn. `input` is for middleware, `subject` the user whose grants of OAuthApps the calls use. */
  async openTurn(
    options: { instance?: Instance; input?: Json; traceId?: string; subject?: string } = {},
  ): Promise<Turn> {
    const opened = await this.request('turn/open', { ...options, instance: located(options.instance) });
    const { turn, traceId, requiredTools } = opened as { turn: string; traceId: string; requiredTools: string[] };
    return new Turn(this.#connection, turn, traceId, requiredTools);
  }

  /** Executes one call in a turn of its own. */
  async execute(call: ToolCall, options: CallOptions & { instance?: Instance } = {}): Promise<ToolResult> {
    const { signal, params } = split(options);
    const request = { call, ...params, instance: located(options.instance) };
    return (await this.request('call/execute', request, signal)) as ToolResult;
  }

  /**
   * Executes a program that calls tools, in a turn of its own: a call of `javascript__script` or `python__script`. The
   * output's `result` is what the program returns. It finds `args` as `args`.
   */
  script(
    language: 'javascript' | 'python',
    code: string,
    { args, ...options }: CallOptions & { args?: Sendable; instance?: Instance } = {},
  ): Promise<ToolResult> {
    const given = args === undefined ? { code } : { code, args };
    return this.execute({ id: 'script', name: `${language}__script`, args: given }, options);
  }

  /** Executes one call in the background: the result is `pending` with a handle. */
  async submit(call: ToolCall, options: CallOptions & { instance?: Instance } = {}): Promise<ToolResult> {
    const { signal, params } = split(options);
    const request = { call, ...params, instance: located(options.instance) };
    return (await this.request('call/submit', request, signal)) as ToolResult;
  }

  /** Polls a pending call: its result, or `pending` again. */
  async poll(handle: string, instance?: Instance): Promise<ToolResult> {
    return (await this.request('call/poll', { handle, instance: located(instance) })) as ToolResult;
  }

  /** Cancels a pending call. */
  async cancel(handle: string, instance?: Instance): Promise<ToolResult> {
    return (await this.request('call/cancel', { handle, instance: located(instance) })) as ToolResult;
  }

  /** Lists the calls in an instance's workdir that can be undone, the newest first. */
  async undoList(instance?: Instance): Promise<UndoRecord[]> {
    return ((await this.request('undo/list', { instance: located(instance) })) as { calls: UndoRecord[] }).calls;
  }

  /** Undoes the newest call in an instance's workdir, or the one with this id. */
  async undo(id?: string, instance?: Instance): Promise<Undone> {
    return ((await this.request('undo/run', { id, instance: located(instance) })) as { undone: Undone }).undone;
  }

  /** Lists the calls that wait for consent, the newest first. `token` is that of an approver, which no agent has. */
  async approvals(token: string, options: { all?: boolean } = {}): Promise<Approval[]> {
    const listed = await this.request('approvals/list', { token, all: options.all ?? false });
    return (listed as { approvals: Approval[] }).approvals;
  }

  /** Returns one approval, with all that the call would do. */
  async approval(token: string, id: string): Promise<Approval> {
    return ((await this.request('approvals/get', { token, id })) as { approval: Approval }).approval;
  }

  /** Lets a call do what it waits for. */
  async approve(token: string, id: string, why?: string): Promise<Approval> {
    return ((await this.request('approvals/approve', { token, id, why })) as { approval: Approval }).approval;
  }

  /** Refuses what a call waits for; the model reads why. */
  async deny(token: string, id: string, why?: string): Promise<Approval> {
    return ((await this.request('approvals/deny', { token, id, why })) as { approval: Approval }).approval;
  }

  /** Subscribes to events, in place of an earlier subscription, until the loop over them is left. */
  async events(filter: { agent?: string; key?: string } = {}): Promise<AsyncIterableIterator<HostEvent>> {
    this.#events?.end();
    const events: EventQueue = new EventQueue(async () => {
      if (this.#events !== events) return;
      this.#events = undefined;
      await this.request('events/unsubscribe').catch(() => {});
    });
    this.#events = events;
    await this.request('events/subscribe', filter);
    return events;
  }

  /** Ends the connection, and a server that was started for it. Calls that run are stopped. */
  close(): Promise<void> {
    this.#connection.end('the connection was closed');
    return this.#close();
  }
}

/** The server takes absolute paths: its current directory may be another. */
function located(instance: Instance | undefined): Instance | undefined {
  return instance?.workdir === undefined ? instance : { ...instance, workdir: resolve(instance.workdir) };
}

/** The imports of the component, as both engines present them. */

declare module 'wasi:clocks/monotonic-clock' {
  import type { Pollable } from 'wasi:io/poll';
  export function now(): number | bigint;
  export function subscribeDuration(nanoseconds: number | bigint): Pollable;
}

declare module 'wasi:io/poll' {
  export interface Pollable {
    block(): void;
    [Symbol.dispose]?(): void;
  }
  export function poll(pollables: Pollable[]): Iterable<number>;
}

declare module 'wasi:http/types' {
  import type { Pollable } from 'wasi:io/poll';
  interface Resource {
    [Symbol.dispose]?(): void;
  }
  export class Fields implements Resource {
    append(name: string, value: Uint8Array): void;
    entries(): [string, Uint8Array][];
    [Symbol.dispose]?(): void;
  }
  export interface OutputStream extends Resource {
    blockingWriteAndFlush(bytes: Uint8Array): void;
  }
  export interface InputStream extends Resource {
    read(length: number | bigint): Uint8Array;
    subscribe(): Pollable;
  }
  export class OutgoingBody {
    write(): OutputStream;
    static finish(body: OutgoingBody, trailers: Fields | undefined): void;
  }
  export class OutgoingRequest {
    constructor(headers: Fields);
    body(): OutgoingBody;
    setMethod(method: { tag: string; val?: string }): void;
    setScheme(scheme: { tag: string }): void;
    setAuthority(authority: string): void;
    setPathWithQuery(path: string): void;
  }
  export interface IncomingBody extends Resource {
    stream(): InputStream;
  }
  export interface IncomingResponse extends Resource {
    status(): number;
    headers(): Fields;
    consume(): IncomingBody;
  }
  export interface FutureIncomingResponse extends Resource {
    subscribe(): Pollable;
    get(): unknown;
  }
}

declare module 'wasi:http/outgoing-handler' {
  import type { FutureIncomingResponse, OutgoingRequest } from 'wasi:http/types';
  export function handle(request: OutgoingRequest, options: undefined): FutureIncomingResponse;
}

declare module 'wasi:random/random' {
  export function getRandomBytes(length: number | bigint): Uint8Array;
}

declare module 'wasi:cli/environment' {
  export function getEnvironment(): [string, string][];
}

declare module 'wasi:logging/logging' {
  export type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'critical';
  export function log(level: Level, context: string, message: string): void;
}

declare module 'wasi:filesystem/types' {
  export type DescriptorType =
    | 'unknown'
    | 'block-device'
    | 'character-device'
    | 'directory'
    | 'fifo'
    | 'symbolic-link'
    | 'regular-file'
    | 'socket';
  export interface Datetime {
    seconds: number | bigint;
    nanoseconds: number;
  }
  export interface DescriptorStat {
    type: DescriptorType;
    linkCount: number | bigint;
    size: number | bigint;
    dataAccessTimestamp?: Datetime | null;
    dataModificationTimestamp?: Datetime | null;
    statusChangeTimestamp?: Datetime | null;
  }
  export interface PathFlags {
    symlinkFollow?: boolean;
  }
  export interface OpenFlags {
    create?: boolean;
    directory?: boolean;
    exclusive?: boolean;
    truncate?: boolean;
  }
  export interface DescriptorFlags {
    read?: boolean;
    write?: boolean;
    mutateDirectory?: boolean;
  }
  export type NewTimestamp = { tag: 'timestamp'; val: Datetime };
  export interface DirectoryEntryStream {
    readDirectoryEntry(): { type: DescriptorType; name: string } | null | undefined;
    [Symbol.dispose]?(): void;
  }
  export interface Descriptor {
    getFlags(): DescriptorFlags;
    read(length: number | bigint, offset: number | bigint): [Uint8Array, boolean];
    write(bytes: Uint8Array, offset: number | bigint): number | bigint;
    stat(): DescriptorStat;
    setSize(size: number | bigint): void;
    readDirectory(): DirectoryEntryStream;
    statAt(flags: PathFlags, path: string): DescriptorStat;
    openAt(flags: PathFlags, path: string, open: OpenFlags, access: DescriptorFlags): Descriptor;
    createDirectoryAt(path: string): void;
    removeDirectoryAt(path: string): void;
    unlinkFileAt(path: string): void;
    renameAt(from: string, target: Descriptor, to: string): void;
    linkAt(flags: PathFlags, from: string, target: Descriptor, to: string): void;
    symlinkAt(target: string, path: string): void;
    readlinkAt(path: string): string;
    setTimesAt(flags: PathFlags, path: string, accessed: NewTimestamp, modified: NewTimestamp): void;
    [Symbol.dispose]?(): void;
  }
}

declare module 'wasi:filesystem/preopens' {
  import type { Descriptor } from 'wasi:filesystem/types';
  export function getDirectories(): [Descriptor, string][];
}

declare module 'goondan:tool/agents' {
  export function request(options: object): { response?: string | null };
  export function send(options: object): object;
  export function spawn(target: string, instanceKey?: string): object;
  export function list(): string;
  export function catalog(): object[];
}

declare module 'goondan:tool/tools' {
  import type { Pollable } from 'wasi:io/poll';
  export interface Tool {
    name: string;
    description?: string | null;
    parameters: string;
    outputSchema?: string | null;
  }
  interface ToolError {
    message: string;
    code?: string;
    suggestion?: string;
    helpUrl?: string;
  }
  type Result = { tag: 'ok'; val: string } | { tag: 'err'; val: { error: ToolError; parameters?: string } };
  export interface Call {
    id(): string;
    subscribe(): Pollable;
    get(): Result | null | undefined;
    cancel(): void;
    [Symbol.dispose]?(): void;
  }
  export function names(): Iterable<string>;
  export function describe(name: string): Tool;
  export function search(query: string, limit: number): Iterable<Tool>;
  export function start(name: string, args: string): Call;
}

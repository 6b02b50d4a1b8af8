/** A server that runs as a child process. */
import type { Readable, Writable } from 'node:stream';
interface Server {
    reader: Readable;
    writer: Writable;
    /** Says why the server ended: how, and its last words on stderr. */
    reason: () => Promise<string>;
    /** Ends the server. */
    end: () => Promise<void>;
}
export declare function spawnServer(program: string, args: string[], env: NodeJS.ProcessEnv | undefined, stderr: 'inherit' | 'ignore'): Server;
export {};

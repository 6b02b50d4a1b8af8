/** A server that runs as a child process. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

/** How long the server has to end before it is killed, in milliseconds. */
const SHUTDOWN_MS = 5000;
/** How long a server that has closed its output has to end, before the connection ends without its exit code. */
const EXIT_MS = 2000;
/** Characters of the server's log that are kept to say why it ended. */
const LOG_UNITS = 2000;

interface Server {
  reader: Readable;
  writer: Writable;
  /** Says why the server ended: how, and its last words on stderr. */
  reason: () => Promise<string>;
  /** Ends the server. */
  end: () => Promise<void>;
}

export function spawnServer(
  program: string, args: string[], env: NodeJS.ProcessEnv | undefined, stderr: 'inherit' | 'ignore',
): Server {
  const child = spawn(program, args, { stdio: 'pipe', ...(env && { env }) });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    if (stderr === 'inherit') process.stderr.write(chunk);
    log = (log + chunk).slice(-LOG_UNITS);
  });
  // Comes after the exit, once the log has been read.
  const ended = new Promise<string>((done) => {
    child.on('error', (error) => done(`${program} could not be started: ${error.message}`));
    child.on('close', (code, signal) => done(`${program} has ended with ${signal ?? `exit code ${code}`}`));
  });
  return {
    reader: child.stdout,
    writer: child.stdin,
    reason: async () => {
      const late = delay(EXIT_MS, `${program} has closed the connection`, { ref: false });
      const how = await Promise.race([ended, late]);
      return log.trim() === '' ? how : `${how}: ${log.trim()}`;
    },
    end: async () => {
      child.stdin.end();
      const kill = setTimeout(() => child.kill('SIGKILL'), SHUTDOWN_MS);
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      clearTimeout(kill);
    },
  };
}

/** A server that runs as a child process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
/** How long the server has to end before it is killed, in milliseconds. */
const SHUTDOWN_MS = 5000;
/** How long a server that has closed its output has to end, before the connection ends without its exit code. */
const EXIT_MS = 2000;
/** Characters of the server's log that are kept to say why it ended. */
const LOG_UNITS = 2000;
export function spawnServer(program, args, env, stderr) {
    const child = spawn(program, args, { stdio: 'pipe', ...(env && { env }) });
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
        if (stderr === 'inherit')
            process.stderr.write(chunk);
        log = (log + chunk).slice(-LOG_UNITS);
    });
    // Comes after the exit, once the log has been read.
    const ended = new Promise((done) => {
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
            if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
                await once(child, 'exit');
            clearTimeout(kill);
        },
    };
}

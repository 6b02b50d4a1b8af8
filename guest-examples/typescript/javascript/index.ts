/** The `javascript` tool: runs JavaScript on the workdir, as `node -e CODE` and `node FILE ARGS` do, or over other tools. */
import * as fs from 'node:fs';
import type { JsonObject, ToolContext, ToolHandler } from 'toolhost';
import { onceStuck } from 'toolhost/async';
import { replaceConsole } from './console';
import { neverSettles } from './failure';
import './globals';
import { Loader } from './loader';
import { Output } from './output';
import { script } from './script';
import { Sources } from './sources';
import { describe } from './trace';
import { Exit, replaceProcess } from './surroundings';
import { failWith, guarded, settled, trackTimers } from './waiting';

interface Input {
  code?: string;
  path?: string;
  args?: string[];
  stdin?: string;
}

async function run(_ctx: ToolContext, input: Input): Promise<JsonObject> {
  const { source, file } = program(input);
  const [stdout, stderr] = [new Output(), new Output()];
  replaceConsole(stdout, stderr);
  const process = replaceProcess(['node', file, ...(input.args ?? [])], input.stdin ?? '', stdout, stderr);
  const sources = new Sources();
  const loader = new Loader(sources);
  let exitCode: number;
  onceStuck(() => failWith(neverSettles()));
  try {
    await guarded(async () => {
      await loader.entry(source, file, 'module');
      await settled(loader.floating);
    });
    exitCode = Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof Exit) {
      exitCode = error.exitCode;
    } else {
      stderr.write(`${describe(error, sources)}\n`);
      exitCode = 1;
    }
  }
  const truncated = stdout.isCut || stderr.isCut;
  return { exitCode, stdout: stdout.text(), stderr: stderr.text(), ...(truncated && { truncated }) };
}

/** Returns the source, and the name that it has in stacks. */
function program({ code, path }: Input): { source: string; file: string } {
  if (code !== undefined && path !== undefined) {
    throw refusal('`code` and `path` are both given', 'TWO_PROGRAMS', 'pass one of them');
  }
  if (code !== undefined) return { source: code, file: '/[code]' };
  if (path === undefined) {
    throw refusal('there is no program', 'NO_PROGRAM', 'pass `code`, or the `path` of a file');
  }
  const file = `/${path.replace(/^\/+/, '')}`;
  return { source: fs.readFileSync(file, 'utf8'), file };
}

function refusal(message: string, code: string, suggestion: string): Error {
  return Object.assign(new Error(message), { code, suggestion });
}

trackTimers();

export const handlers: Record<string, ToolHandler> = { run, script };

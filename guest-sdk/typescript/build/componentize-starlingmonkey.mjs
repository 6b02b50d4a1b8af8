// Builds a component from one JavaScript module and StarlingMonkey.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { BuildFailure } from './failure.mjs';
import { componentizerFailure } from './top-level.mjs';
import { WORLD, withWorld } from './wit.mjs';

/** Returns the component's bytes. It imports `wasi:http` only if the tool uses `fetch`. */
export async function componentize(code, features, wit) {
  const { componentize: withStarlingMonkey } = await import('./starlingmonkey/componentizer.mjs').catch(notInstalled);
  const folder = await mkdtemp(path.join(tmpdir(), 'toolhost-js-'));
  // The componentizer cuts the current directory off the path of the source, wrongly where it is `/`.
  const before = process.cwd();
  process.chdir(folder);
  try {
    const sourcePath = path.join(folder, 'tool.js');
    await writeFile(sourcePath, code);
    return await withWorld(wit, features, async (witPath) => {
      const disableFeatures = features.fetch ? ['fetch-event'] : ['fetch-event', 'http'];
      const { component } = await withStarlingMonkey({ sourcePath, witPath, worldName: WORLD, disableFeatures });
      return component;
    });
  } catch (error) {
    throw componentizerFailure(error);
  } finally {
    process.chdir(before);
    await rm(folder, { recursive: true, force: true });
  }
}

/** Its packages are large and rarely needed, so they are installed separately. */
function notInstalled(error) {
  if (error?.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  throw new BuildFailure('environment', {
    text: 'the packages for tools that use `fetch` are not installed',
    suggestion: 'run `npm ci --ignore-scripts` in the folder `build/starlingmonkey`, or build with `--engine qjs`',
  });
}

// Builds a component from one JavaScript module and QuickJS.
import { componentize as withQuickJs } from 'componentize-qjs';
import { RESERVE_STACK, withLargeStack } from './large-stack.mjs';
import { withOwnTable } from './own-table.mjs';
import { importingStandIns, restoreNames, withStandIns } from './stand-in.mjs';
import { componentizerFailure } from './top-level.mjs';
import { WORLD, withWorld } from './wit.mjs';

/** Returns the component's bytes. */
export async function componentize(code, features, wit) {
  const hasStandIns = features.fetch || features.tools;
  const source = hasStandIns ? importingStandIns(code) : code;
  const build = async (witPath) => {
    try {
      const { component } = await withQuickJs({ witPath, world: WORLD, jsSource: RESERVE_STACK + source, sync: true });
      return withLargeStack(withOwnTable(hasStandIns ? restoreNames(component) : component));
    } catch (error) {
      throw componentizerFailure(error);
    }
  };
  return withWorld(wit, features, build, hasStandIns ? withStandIns : undefined);
}

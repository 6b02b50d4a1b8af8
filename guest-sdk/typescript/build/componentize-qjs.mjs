// Builds a component from one JavaScript module and QuickJS.
import { componentize as withQuickJs } from 'componentize-qjs';
import { withOwnTable } from './own-table.mjs';
import { componentizerFailure } from './top-level.mjs';
import { WORLD, withWorld } from './wit.mjs';

/** Returns the component's bytes. */
export async function componentize(code, features, wit) {
  return withWorld(wit, features, async (witPath) => {
    try {
      const { component } = await withQuickJs({ witPath, world: WORLD, jsSource: code, sync: true });
      return withOwnTable(component);
    } catch (error) {
      throw componentizerFailure(error);
    }
  });
}

/** The `text-transform` tool: changes that a model would make word by word, made at once and exactly. */
import type { JsonObject, ToolContext, ToolHandler } from 'toolhost';
import { changeCase, changeLines, replaceAll, wrap, type Case, type LineChanges, type Replacement } from './changes';
import { deliver, textOf, type Place } from './place';

/** Makes a handler of a change: reads the text, changes it, returns it or writes it to a file. */
function handler<Input>(change: (text: string, input: Input) => { text: string } & JsonObject): ToolHandler {
  return async (ctx: ToolContext, input: Input & Place) => {
    const text = await textOf(input);
    const { text: changed, ...facts } = change(text, input);
    ctx.logger.info(`${text.length} characters became ${changed.length}`);
    return { ...(await deliver(input, changed)), ...facts };
  };
}

export const handlers: Record<string, ToolHandler> = {
  case: handler((text, { to }: { to: Case }) => ({ text: changeCase(text, to) })),
  replace: handler((text, input: Replacement) => replaceAll(text, input)),
  lines: handler((text, input: LineChanges) => changeLines(text, input)),
  wrap: handler((text, { width = 80, indent = '' }: { width?: number; indent?: string }) => ({ text: wrap(text, width, indent) })),
};

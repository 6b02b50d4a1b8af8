// Handlers that are left out of a tool, because no manifest can export their names.
import path from 'node:path';

/** The message of `UnexportableHandlers` in runtime/module.ts, within whatever the engine writes around it. */
const MESSAGE = /toolhost:left-out (\[[\w"\\,-]*\])/;

/** Returns the names for which a build failed. Undefined if it failed for another reason. */
export function leftOutOf(error) {
  const texts = (error?.errors ?? []).map(({ text }) => text);
  const [, names] = texts.map((text) => MESSAGE.exec(text)).find(Boolean) ?? [];
  return names && JSON.parse(names);
}

export function leftOutWarning(entry, name) {
  return {
    file: path.basename(entry),
    text: `the handler \`${name}\` is left out: a name is lower-case letters, digits, \`_\` and \`-\`, without \`__\``,
    suggestion: 'rename it, if a manifest is to export it',
  };
}

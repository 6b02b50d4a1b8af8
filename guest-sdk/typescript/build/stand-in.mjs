// Names of WASI's packages while a component is built.
//
// The QuickJS componentizer runs top-level code with an implementation of `wasi:io` of its own, and with one that only fails
// for every interface that it does not know. `wasi:http` and `goondan:tool/tools` are unknown to it and use resources of
// `wasi:io`, which then do not fit together. Under another name it knows none of them, and they fit. The runtime calls none while the tool is
// built. Afterwards they get the names of WASI, with another patch release than the one that the engine imports:
// two imports of a component cannot have one name. A name keeps its length.
import { ComponentSection, Section, sectionsOf } from './wasm.mjs';

const WASI = 'wasi:';
const STAND_IN = 'host:';

const PACKAGES = /\bwasi:(?=(cli|clocks|filesystem|http|io|logging|random|sockets)\b)/g;
const STAND_INS = /host:(?=(cli|clocks|filesystem|http|io|logging|random|sockets)\/)/g;

/** Returns a text of WIT with other names. */
export function withStandIns(text) {
  return text.replace(PACKAGES, STAND_IN);
}

/** Returns a module that imports by other names. */
export function importingStandIns(code) {
  return code.replace(/(?<=^import .* from ")wasi:/gm, STAND_IN);
}

/** Gives the imports of a component the names of WASI, in place. */
export function restoreNames(component) {
  for (const { id, body } of sectionsOf(component)) {
    if (id === ComponentSection.Component) restoreNames(body);
    else if (id === ComponentSection.Module) sectionsOf(body).filter((each) => each.id === Section.Import || each.id === Section.Export).forEach((each) => restoreIn(each.body));
    else restoreIn(body);
  }
  return component;
}

function restoreIn(body) {
  for (const { index } of body.toString('latin1').matchAll(STAND_INS)) {
    body.write(WASI, index, 'latin1');
    // The byte before a name is its length.
    const name = body.toString('latin1', index, index + body[index - 1]);
    const version = /(?<=@\d+\.\d+\.)\d+/.exec(name);
    // Releases of one minor version are compatible. `0` stands before a suffix such as `-draft`.
    if (version && Number(version[0]) % 10 > 0) body.write(String(Number(version[0]) - 1), index + version.index, 'latin1');
  }
}

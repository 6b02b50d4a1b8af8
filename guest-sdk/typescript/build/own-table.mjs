// Gives the module of QuickJS the table of its functions.
//
// The componentizer links modules as shared libraries: one defines the table, and that of QuickJS imports it
// and fills it with some 700 functions. A host fills an imported table in each instantiation, function by
// function, which takes longer than a short call. The table of a module itself is part of what the host
// compiles, and an element is made when it is first used. So the table moves.
import { ComponentSection, Kind, Reader, Section, importsOf, name, number, readInstance, sectionsOf, signed, withSections } from './wasm.mjs';

const TABLE = '__indirect_function_table';
const MAIN = 'main';
const QUICKJS = 'componentize_qjs_runtime.wasm';

const FUNCREF = 0x70;
const I32_CONST = 0x41;
const GLOBAL_GET = 0x23;
const END = 0x0b;

/** Returns the component with its table moved, or as it is if it is linked in another way. */
export function withOwnTable(component) {
  const sections = sectionsOf(component);
  for (const section of sections) {
    if (section.id !== ComponentSection.Component) continue;
    const moved = moveTable(section.body);
    if (!moved) continue;
    section.body = moved;
    return withSections(component, sections);
  }
  return component;
}

/** Undefined if these modules are not linked as described above. */
function moveTable(component) {
  const sections = sectionsOf(component).flatMap(oneInstancePerSection);
  const modules = sections.filter(({ id }) => id === ComponentSection.Module);
  const instances = sections.filter(({ id }) => id === ComponentSection.CoreInstance).map(({ body }) => instanceOf(body));
  const linker = instances.find(({ args }) => args && MAIN in args && QUICKJS in args);
  if (!linker) return undefined;
  const { [MAIN]: main, [QUICKJS]: quickjs } = linker.args;
  const tables = sections.filter(({ id }) => id === ComponentSection.Alias).flatMap(({ body }) => tableAliases(body));
  if (tables.length !== 1 || tables[0].instance !== main || tables[0].name !== TABLE) return undefined;

  const [ofMain, ofQuickjs, ofLinker] = [instances[main], instances[quickjs], linker].map(({ module }) => modules[module]);
  const elements = tableBody(ofMain.body);
  const filled = withTable(ofQuickjs.body, elements, tableBase(ofMain.body));
  if (!filled) return undefined;
  ofQuickjs.body = filled;
  ofLinker.body = importingFrom(ofLinker.body, QUICKJS);
  ofMain.body = replaced(ofMain.body, Section.Table, Buffer.concat([number(1), Buffer.from([FUNCREF, 0]), number(0)]));

  let instance = -1;
  const rewired = sections.flatMap((section) => {
    if (section.id !== ComponentSection.CoreInstance) return [section];
    instance += 1;
    if (instance === quickjs) return [section, aliasOfTable(quickjs)];
    return instance > quickjs ? [{ ...section, body: exportingTable(section.body, 1) }] : [section];
  });
  return withSections(component, rewired);
}

function oneInstancePerSection(section) {
  if (section.id !== ComponentSection.CoreInstance) return [section];
  const reader = new Reader(section.body);
  return reader.list(() => {
    const start = reader.at;
    readInstance(reader);
    return { id: section.id, body: Buffer.concat([number(1), reader.since(start)]) };
  });
}

function instanceOf(body) {
  return new Reader(body).list((reader) => readInstance(reader))[0];
}

/** Returns `{instance, name}` of each alias of a core table. */
function tableAliases(body) {
  const aliases = new Reader(body).list((reader) => {
    const sort = reader.byte();
    const coreSort = sort === 0 ? reader.byte() : undefined;
    const target = reader.byte();
    const instance = reader.number();
    const exported = target === 2 ? reader.number() : reader.name();
    return { isTable: coreSort === Kind.Table, instance, name: exported };
  });
  return aliases.filter(({ isTable }) => isTable);
}

function aliasOfTable(instance) {
  const alias = [Buffer.from([0, Kind.Table, 1]), number(instance), name(TABLE)];
  return { id: ComponentSection.Alias, body: Buffer.concat([number(1), ...alias]) };
}

/** Makes an instance of exports export another table. */
function exportingTable(body, table) {
  const { exports } = instanceOf(body);
  if (!exports?.some(({ sort }) => sort === Kind.Table)) return body;
  const items = exports.map((each) =>
    Buffer.concat([name(each.name), Buffer.from([each.sort]), number(each.sort === Kind.Table ? table : each.index)]),
  );
  return Buffer.concat([number(1), Buffer.from([1]), number(items.length), ...items]);
}

function bodyOf(module, id) {
  return sectionsOf(module).find((section) => section.id === id)?.body ?? Buffer.from([0]);
}

function replaced(module, id, body) {
  return withSections(module, sectionsOf(module).map((section) => (section.id === id ? { id, body } : section)));
}

function tableBody(main) {
  return bodyOf(main, Section.Table);
}

/** Returns the number at which the functions of QuickJS begin in the table. */
function tableBase(main) {
  const exports = new Reader(bodyOf(main, Section.Export)).list((reader) => ({ name: reader.name(), kind: reader.byte(), index: reader.number() }));
  const { index } = exports.find((each) => each.name === `${QUICKJS}:table_base`);
  const globals = new Reader(bodyOf(main, Section.Global)).list((reader) => {
    reader.at += 2;
    const constant = reader.byte() === I32_CONST ? reader.signed() : undefined;
    while (constant !== undefined && reader.byte() !== END);
    return constant;
  });
  return globals[index];
}

/** Returns a module that defines and exports the table that it imported. Undefined if it does not fill it from `__table_base`. */
function withTable(module, table, base) {
  const imports = importsOf(bodyOf(module, Section.Import));
  const globals = imports.filter(({ kind }) => kind === Kind.Global);
  const tableBaseGlobal = globals.findIndex((each) => each.name === '__table_base');
  const kept = imports.filter(({ kind }) => kind !== Kind.Table);
  const fromBase = Buffer.concat([number(1), number(0), Buffer.from([GLOBAL_GET]), number(tableBaseGlobal), Buffer.from([END])]);
  const elements = bodyOf(module, Section.Element);
  if (kept.length !== imports.length - 1 || base === undefined || !fromBase.equals(elements.subarray(0, fromBase.length))) return undefined;

  const exports = new Reader(bodyOf(module, Section.Export));
  const exported = number(exports.number() + 1);
  const bodies = {
    [Section.Import]: Buffer.concat([number(kept.length), ...kept.map(({ bytes }) => bytes)]),
    [Section.Export]: Buffer.concat([exported, exports.rest(), name(TABLE), Buffer.from([Kind.Table, 0])]),
    [Section.Element]: Buffer.concat([number(1), number(0), Buffer.from([I32_CONST]), signed(base), Buffer.from([END]), elements.subarray(fromBase.length)]),
  };
  const sections = sectionsOf(module).flatMap(({ id, body }) => {
    const section = { id, body: bodies[id] ?? body };
    return id === Section.Function ? [section, { id: Section.Table, body: table }] : [section];
  });
  return withSections(module, sections);
}

/** Returns a module that imports the table from another module. */
function importingFrom(module, source) {
  const imports = importsOf(bodyOf(module, Section.Import)).map((each) =>
    each.kind === Kind.Table && each.name === TABLE ? Buffer.concat([name(source), name(TABLE), Buffer.from([Kind.Table]), each.type]) : each.bytes,
  );
  return replaced(module, Section.Import, Buffer.concat([number(imports.length), ...imports]));
}

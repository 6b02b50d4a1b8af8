// Runs the core modules of a component in node: what a call does, without a host.
import { setFlagsFromString } from 'node:v8';
import { ComponentSection, Kind, Reader, Section, readInstance, sectionsOf } from './wasm.mjs';

/** The index spaces of a component, by the sort of their items. */
const SPACES = { [Kind.Func]: 'functions', [Kind.Table]: 'tables', [Kind.Memory]: 'memories', [Kind.Global]: 'globals' };

/** The sort of a component's functions. */
const FUNCTION = 1;

const ALIAS_OF_CORE_EXPORT = 1;
const OUTER_ALIAS = 2;

const Canon = { Lift: 0, Lower: 1 };
const Option = { Memory: 3, Realloc: 4, PostReturn: 5 };

/**
 * Instantiates the modules of a component. Returns `{lifts, memory, globals}`. `lifts` are the functions that it
 * exports, by their names in the module: `{call, realloc, postReturn}`. What they import from the host throws.
 */
export function instantiate(component) {
  compileOnce();
  allowSums();
  const graph = { modules: [], instances: [], functions: [], tables: [], memories: [], globals: [], host: [], lifts: {} };
  for (const { id, body } of sectionsOf(component)) {
    if (id === ComponentSection.Module) graph.modules.push(body);
    const read = READERS[id];
    if (read) new Reader(body).list((reader) => read(reader, graph));
  }
  const { lifts, globals } = graph;
  return { lifts, globals: globals.map(({ item }) => item), memory: graph.memories[0]?.item };
}

const READERS = {
  [ComponentSection.CoreInstance]: (reader, graph) => graph.instances.push(instanceOf(readInstance(reader), graph)),
  [ComponentSection.Alias]: readAlias,
  [ComponentSection.Canon]: readCanon,
};

function instanceOf({ module, args, exports }, { modules, instances, ...spaces }) {
  if (exports) return Object.fromEntries(exports.map(({ name, sort, index }) => [name, spaces[SPACES[sort]][index].item]));
  const imports = Object.fromEntries(Object.entries(args).map(([name, index]) => [name, instances[index]]));
  return new WebAssembly.Instance(new WebAssembly.Module(modules[module]), imports).exports;
}

function readAlias(reader, graph) {
  const sort = reader.byte();
  const space = sort === 0 ? SPACES[reader.byte()] : undefined;
  const target = reader.byte();
  const index = reader.number();
  if (target === OUTER_ALIAS) return void reader.number();
  const name = reader.name();
  if (sort === FUNCTION) graph.host.push(name);
  if (target === ALIAS_OF_CORE_EXPORT && space) graph[space].push({ name, item: graph.instances[index][name] });
}

function readCanon(reader, { functions, host, lifts }) {
  const kind = reader.byte();
  if (kind === Canon.Lift || kind === Canon.Lower) reader.byte();
  const index = reader.number();
  if (kind === Canon.Lift) {
    const { name, item: call } = functions[index];
    const options = readOptions(reader);
    reader.number();
    lifts[name] = { call, realloc: functions[options[Option.Realloc]]?.item, postReturn: functions[options[Option.PostReturn]]?.item };
    return;
  }
  if (kind === Canon.Lower) readOptions(reader);
  functions.push({ name: '', item: kind === Canon.Lower ? hostFunction(host[index]) : hostFunction('a resource') });
}

function readOptions(reader) {
  const options = reader.list(() => {
    const option = reader.byte();
    return [option, option >= Option.Memory && option <= Option.PostReturn ? reader.number() : undefined];
  });
  return Object.fromEntries(options);
}

/** Stands for a function of the host. Engines ask for the time, which is that of 1970. */
function hostFunction(name) {
  if (name === 'now') return () => 0n;
  return () => {
    throw new Error(`the host's \`${name}\` is used while the tool is built`);
  };
}

/** Leaves functions as the fast compiler makes them: they run for a tenth of a second, and the other one takes longer. */
function compileOnce() {
  for (const flag of ['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering']) setFlagsFromString(flag);
}

/** A module with a global that is a sum. */
const SUM = [0, 97, 115, 109, 1, 0, 0, 0, 6, 9, 1, 127, 0, 65, 0, 65, 0, 106, 11];

/** Linked modules say where their data is by sums, which Node 20 reads only with a flag. */
function allowSums() {
  if (!WebAssembly.validate(Uint8Array.from(SUM))) setFlagsFromString('--experimental-wasm-extended-const');
}

/** Whether a module defines a memory. */
export function definesMemory(module) {
  return sectionsOf(module).some(({ id }) => id === Section.Memory);
}

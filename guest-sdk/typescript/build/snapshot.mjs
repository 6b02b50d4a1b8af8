// Makes a component in which something has run already: its memory is as it was afterwards.
//
// This is the second of two steps. A componentizer makes a component of the engine and a small module
// (`engine.mjs`), which takes seconds and is the same for all tools, so it is kept. In node, that component then loads the bundle of one tool.
import { definesMemory, instantiate } from './core-graph.mjs';
import { ComponentSection, Reader, Section, number, sectionsOf, signed, withSections } from './wasm.mjs';

const CALL = /^goondan:tool\/handlers@[^#]*#call$/;

const PAGE_BYTES = 65_536;

/** As many as the componentizers write: each costs something when a host compiles the component. */
const MAX_SEGMENTS = 10_000;

/** More than an allocator keeps at the ends of a free piece. */
const LINKS_BYTES = 32;

const I32_CONST = 0x41;
const END = 0x0b;

/** Returns `{loaded, component}`: what the module of `engine.mjs` says of a bundle, and the component that has loaded it. */
export function afterLoading(component, bundle, types) {
  const { answer, component: after } = afterCall(component, JSON.stringify(types), bundle);
  return { loaded: JSON.parse(answer), component: after };
}

function afterCall(component, name, input) {
  const sections = sectionsOf(component);
  const hasMemory = sections.some(({ id, body }) => id === ComponentSection.Module && definesMemory(body));
  if (hasMemory) return afterCallOfModules(component, name, input);
  // QuickJS is a component within another one.
  const inner = sections.filter(({ id }) => id === ComponentSection.Component).sort((a, b) => b.body.length - a.body.length)[0];
  const { answer, component: body } = afterCallOfModules(inner.body, name, input);
  return { answer, component: withSections(component, sections.map((each) => (each === inner ? { ...each, body } : each))) };
}

function afterCallOfModules(component, name, input) {
  const { lifts, memory, globals } = instantiate(component);
  const before = globals.map(({ value }) => value);
  const [, lift] = Object.entries(lifts).find(([name]) => CALL.test(name));
  const answer = call(lift, memory, name, input);
  if (globals.some(({ value }, index) => value !== before[index])) throw new Error('a global of the engine is not what it was');
  const bytes = withoutRemains(lift, memory);
  const sections = sectionsOf(component).map(({ id, body }) => {
    const isMain = id === ComponentSection.Module && definesMemory(body);
    return { id, body: isMain ? withMemory(body, bytes) : body };
  });
  return { answer, component: withSections(component, sections) };
}

/**
 * Returns the memory with zeros where it is free: the text of the bundle was there, and zeros take no room in a component.
 * What is free is found by taking it from the allocator, of which the returned memory knows nothing.
 */
function withoutRemains({ realloc }, memory) {
  const bytes = new Uint8Array(memory.buffer.slice(0));
  for (const size of [262_144, 65_536, 16_384, 4_096, 1_024, 256]) {
    const before = memory.buffer.byteLength;
    for (;;) {
      const at = realloc(0, 0, 8, size);
      if (memory.buffer.byteLength > before) break;
      // A free piece of the heap begins and ends with what the allocator knows of it.
      bytes.fill(0, at + LINKS_BYTES, at + size - LINKS_BYTES);
    }
  }
  return bytes;
}

/** Calls a handler as the canonical ABI says, with an empty context. Returns its output. */
function call({ call: start, realloc, postReturn }, memory, name, input) {
  const [named, given] = [name, input].map((text) => {
    const bytes = Buffer.from(text);
    const at = realloc(0, 0, 1, bytes.length);
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
    return [at, bytes.length];
  });
  // The name, the context of six texts and an optional one, and the input: 19 numbers.
  const parameters = realloc(0, 0, 4, 76);
  const numbers = new Int32Array(memory.buffer, parameters, 19).fill(0);
  for (const at of [2, 4, 6, 8, 13, 15]) numbers[at] = 1;
  numbers.set(named, 0);
  numbers.set(given, 17);
  const result = start(parameters);
  const view = new DataView(memory.buffer);
  const textAt = (at) => Buffer.from(memory.buffer, view.getUint32(at, true), view.getUint32(at + 4, true)).toString('utf8');
  const isError = view.getUint8(result) === 1;
  const answer = textAt(result + (isError ? 4 : 8));
  postReturn?.(result);
  if (isError) throw new Error(answer);
  return answer;
}

/** Returns a module whose memory begins with these bytes. */
function withMemory(module, bytes) {
  const segments = segmentsOf(bytes);
  const bodies = {
    [Section.Memory]: memorySection(module, bytes.length / PAGE_BYTES),
    [Section.DataCount]: number(segments.length),
    [Section.Data]: dataSection(segments, bytes),
  };
  return withSections(module, sectionsOf(module).map(({ id, body }) => ({ id, body: bodies[id] ?? body })));
}

function dataSection(segments, bytes) {
  const heads = segments.map(([start, end]) => [0, I32_CONST, ...signed(start), END, ...number(end - start)]);
  const count = number(segments.length);
  const section = Buffer.alloc(segments.reduce((sum, [start, end], index) => sum + heads[index].length + end - start, count.length));
  section.set(count);
  let at = count.length;
  segments.forEach(([start, end], index) => {
    section.set(heads[index], at);
    section.set(bytes.subarray(start, end), at + heads[index].length);
    at += heads[index].length + end - start;
  });
  return section;
}

function memorySection(module, pages) {
  const reader = new Reader(sectionsOf(module).find(({ id }) => id === Section.Memory).body);
  const head = reader.take(2);
  reader.number();
  return Buffer.concat([head, number(pages), reader.rest()]);
}

/** Returns the places of what is not zero, with short gaps within them. */
function segmentsOf(bytes) {
  const words = new Uint32Array(bytes.buffer);
  for (let gap = 8; ; gap *= 2) {
    const segments = [];
    let last;
    let end = -gap;
    for (let at = 0; at < words.length; at += 1) {
      if (words[at] === 0) continue;
      if (at - end >= gap) segments.push((last = [at * 4, 0]));
      end = at + 1;
      last[1] = end * 4;
    }
    if (segments.length <= MAX_SEGMENTS) return segments;
  }
}

// Gives QuickJS a larger stack, whose end a program can catch.
//
// The linker puts a stack of 1 MiB beneath the data. QuickJS compares the pointer of the stack with a limit, and throws
// a RangeError there; but where it is built for WASI, the limit is 0. So the module of the engine reserves a stack in the
// heap. The pointer and the limit are set to it.
import { ComponentSection, Reader, Section, number, sectionsOf, signed, withSections } from './wasm.mjs';

/** Some 5,500 frames of a recursive function. */
const STACK_BYTES = 1536 << 10;

/** The first bytes of the stack, by which it is found in the memory. */
const MARK = Buffer.from(Array.from({ length: 32 }, (_, index) => index * index * 31 + index * 7 + 89));

/** Statements that reserve the stack, for the module of the engine. Nothing else has these bytes in a row. */
export const RESERVE_STACK = `const stack = new Uint8Array(${STACK_BYTES});
for (let at = 0; at < ${MARK.length}; at += 1) stack[at] = at * at * 31 + at * 7 + 89;
globalThis[Symbol.for('toolhost.stack')] = stack;
`;

/** Beneath the limit: for functions in C that call no function which compares. */
const RESERVE_BYTES = 64 << 10;

const PAGE_BYTES = 65_536;
const I32_CONST = 0x41;
const END = 0x0b;
const ALIGNMENT = 16;

/** Returns the component with the larger stack, or as it is if its memory is not laid out as described. */
export function withLargeStack(component) {
  const sections = sectionsOf(component);
  for (const section of sections) {
    if (section.id !== ComponentSection.Component) continue;
    const inner = sectionsOf(section.body);
    const main = inner.find(({ id }) => id === ComponentSection.Module);
    const changed = main && withStack(main.body);
    if (!changed) continue;
    main.body = changed;
    section.body = withSections(section.body, inner);
    return withSections(component, sections);
  }
  return component;
}

/** Undefined where the stack, its pointer or its limit are not found. */
function withStack(module) {
  const sections = sectionsOf(module);
  const body = (wanted) => sections.find(({ id }) => id === wanted);
  const [globals, data, memory] = [body(Section.Global), body(Section.Data), body(Section.Memory)];
  if (!globals || !data || !memory) return undefined;
  const image = memoryImage(memory.body, data.body);
  const pointer = stackPointer(module, globals.body);
  const mark = image.indexOf(MARK);
  if (!pointer || mark < 0 || image.indexOf(MARK, mark + 1) >= 0) return undefined;
  const limit = limitAddress(image, pointer.value);
  if (limit === undefined) return undefined;

  const bottom = mark + RESERVE_BYTES;
  const top = mark + STACK_BYTES - ((mark + STACK_BYTES) % ALIGNMENT);
  globals.body = Buffer.concat([globals.body.subarray(0, pointer.start), signed(top), globals.body.subarray(pointer.end)]);
  const rest = new Reader(data.body);
  const segments = rest.number();
  const value = Buffer.alloc(4);
  value.writeUInt32LE(bottom);
  const segment = [Buffer.from([0, I32_CONST]), signed(limit), Buffer.from([END]), number(value.length), value];
  data.body = Buffer.concat([number(segments + 1), rest.rest(), ...segment]);
  return withSections(module, sections);
}

/** Returns the memory as its data segments fill it. */
function memoryImage(memory, data) {
  const type = new Reader(memory);
  type.number();
  type.byte();
  const image = Buffer.alloc(type.number() * PAGE_BYTES);
  new Reader(data).list((reader) => {
    if (reader.number() !== 0 || reader.byte() !== I32_CONST) throw new RangeError('a data segment of the component has no constant place');
    const offset = reader.signed();
    reader.byte();
    image.set(reader.take(reader.number()), offset);
  });
  return image;
}

/** Returns the initial value of the exported `__stack_pointer`, and where it stands in the section. */
function stackPointer(module, globals) {
  const exports = sectionsOf(module).find(({ id }) => id === Section.Export);
  const named = new Reader(exports?.body ?? Buffer.from([0])).list((reader) => ({ name: reader.name(), kind: reader.byte(), index: reader.number() }));
  const index = named.find(({ name }) => name === '__stack_pointer')?.index;
  const places = new Reader(globals).list((reader) => {
    reader.take(2);
    if (reader.byte() !== I32_CONST) return undefined;
    const start = reader.at;
    const value = reader.signed();
    const end = reader.at;
    while (reader.byte() !== END);
    return { start, end, value };
  });
  return places[index];
}

/**
 * Returns the address of the limit in the state of QuickJS, of which these words lie side by side: the stack's size
 * (0: no limit), its top, the limit (0), and the exception, which is none (0, 4).
 */
function limitAddress(image, pointer) {
  const found = [];
  for (let at = 0; at + 20 <= image.length; at += 4) {
    if (image.readUInt32LE(at + 16) !== 4 || image.readUInt32LE(at) !== 0) continue;
    const top = image.readUInt32LE(at + 4);
    if (top > pointer || top < pointer - PAGE_BYTES) continue;
    if (image.readUInt32LE(at + 8) === 0 && image.readUInt32LE(at + 12) === 0) found.push(at + 8);
  }
  return found.length === 1 ? found[0] : undefined;
}

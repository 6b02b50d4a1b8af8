// Reads and writes what modules and components of WebAssembly have in common in their binary format.

/** Ids of a module's sections. */
export const Section = { Import: 2, Function: 3, Table: 4, Memory: 5, Global: 6, Export: 7, Element: 9, Data: 11, DataCount: 12 };

/** Ids of a component's sections. */
export const ComponentSection = { Module: 1, CoreInstance: 2, Component: 4, Alias: 6, Canon: 8 };

/** What a module imports and exports. */
export const Kind = { Func: 0, Table: 1, Memory: 2, Global: 3, Tag: 4 };

/** Before the first section. */
const HEADER_BYTES = 8;

export class Reader {
  constructor(bytes, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  get done() {
    return this.at >= this.bytes.length;
  }

  byte() {
    if (this.done) throw new RangeError('the component ends within a value');
    return this.bytes[this.at++];
  }

  /** An integer of at most 32 bits. */
  number() {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('a number in the component is too large');
  }

  signed() {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return shift < 25 && byte & 0x40 ? value | (-1 << (shift + 7)) : value;
    }
    throw new RangeError('a number in the component is too large');
  }

  name() {
    return Buffer.from(this.take(this.number())).toString('utf8');
  }

  take(length) {
    this.at += length;
    if (this.at > this.bytes.length) throw new RangeError('the component ends within a value');
    return this.since(this.at - length);
  }

  /** Reads a number of items. */
  list(read) {
    return Array.from({ length: this.number() }, () => read(this));
  }

  /** The bytes from a place to where it is. */
  since(start) {
    return this.bytes.subarray(start, this.at);
  }

  rest() {
    return this.bytes.subarray(this.at);
  }
}

/** Returns `[{id, body}]`. */
export function sectionsOf(bytes) {
  const reader = new Reader(bytes, HEADER_BYTES);
  const sections = [];
  while (!reader.done) sections.push({ id: reader.byte(), body: reader.take(reader.number()) });
  return sections;
}

/** Returns a module or component with the header of another one. */
export function withSections(original, sections) {
  const parts = sections.flatMap(({ id, body }) => [Buffer.from([id]), number(body.length), body]);
  return Buffer.concat([original.subarray(0, HEADER_BYTES), ...parts]);
}

/** Reads an instance of core modules. Returns `{module, args: {name: instance}}`, or `{exports: [{name, sort, index}]}`. */
export function readInstance(reader) {
  if (reader.byte() === 1) {
    return { exports: reader.list(() => ({ name: reader.name(), sort: reader.byte(), index: reader.number() })) };
  }
  const module = reader.number();
  const args = reader.list(() => {
    const argument = reader.name();
    reader.byte();
    return [argument, reader.number()];
  });
  return { module, args: Object.fromEntries(args) };
}

/** Returns `[{kind, name, type, bytes}]`; `bytes` is the whole entry, and `type` its end. */
export function importsOf(body) {
  return new Reader(body).list((reader) => {
    const start = reader.at;
    reader.name();
    const imported = reader.name();
    const kind = reader.byte();
    const type = reader.at;
    skipType(reader, kind);
    return { kind, name: imported, type: reader.since(type), bytes: reader.since(start) };
  });
}

function skipType(reader, kind) {
  if (kind === Kind.Func) reader.number();
  else if (kind === Kind.Global) reader.take(2);
  else if (kind === Kind.Tag) reader.take(1), reader.number();
  else {
    if (kind === Kind.Table) reader.byte();
    const hasMaximum = reader.byte() & 1;
    reader.number();
    if (hasMaximum) reader.number();
  }
}

export function number(value) {
  const bytes = [];
  for (;;) {
    const low = value % 0x80;
    value = Math.floor(value / 0x80);
    if (value === 0) return Buffer.from([...bytes, low]);
    bytes.push(low | 0x80);
  }
}

export function signed(value) {
  const bytes = [];
  for (;;) {
    const low = value & 0x7f;
    value >>= 7;
    const sign = low & 0x40 ? -1 : 0;
    if (value === sign) return Buffer.from([...bytes, low]);
    bytes.push(low | 0x80);
  }
}

export function name(text) {
  const bytes = Buffer.from(text);
  return Buffer.concat([number(bytes.length), bytes]);
}

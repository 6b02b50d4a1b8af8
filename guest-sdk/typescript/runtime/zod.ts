/** Schemas of zod: JSON Schema of those before 4.2, which cannot say it themselves, and values that JSON has not. */

import { matcherOf, objectPlan, wholePlan } from '../build/types/plan.mjs';
import type { Plan, WholePlan } from './convert';

type Json = Record<string, unknown>;

export type Side = 'input' | 'output';

/** What zod 3 and zod 4 have in common of a definition. */
interface Definition {
  /** `ZodString` in zod 3, `string` in zod 4. */
  typeName?: string;
  type?: unknown;
  checks?: { kind?: string; value?: number; inclusive?: boolean; regex?: RegExp; _zod?: { def: { check: string; format?: string; pattern?: RegExp; value?: number; minimum?: number; maximum?: number; inclusive?: boolean } } }[];
  [key: string]: any;
}

interface Schema {
  _def?: Definition;
  _zod?: { def: Definition };
  description?: string;
}

export function isOfZod(schema: object): boolean {
  const { _zod, _def } = schema as Schema;
  return Boolean(_zod || _def?.typeName);
}

/** Undefined if it is no schema of zod. */
export function jsonSchemaOfZod(schema: object, side: Side): Json | undefined {
  return isOfZod(schema) ? convert(schema as Schema, side) : undefined;
}

/** Values that zod leaves to its user, as the kit writes them in JSON. */
const WRITTEN = ['bigint', 'date', 'set', 'map'];

const NOT_JSON = ['symbol', 'undefined', 'void', 'nan', 'function', 'promise', 'custom', 'transform'];

/**
 * Options for zod's own JSON Schema. What JSON has not is written as for types, and an object that does not say it takes
 * other properties takes none: a misspelt argument is refused, and not left out.
 */
export function inJson(side: Side): object {
  const override = ({ zodSchema, jsonSchema, path }: { zodSchema: Schema; jsonSchema: Json; path: (string | number)[] }) => {
    const { kind, def } = definitionOf(zodSchema);
    if (NOT_JSON.includes(kind)) throw new TypeError(`\`${nameAt(path)}\`: a value of ${kind} is not JSON`);
    if (WRITTEN.includes(kind)) Object.assign(jsonSchema, ofKind(kind, def, (inner) => convert(inner, side), side));
    // Each part of an intersection leaves the properties of the others to them.
    const isClosed = kind === 'object' && side === 'input' && def.catchall === undefined && path.at(-2) !== 'allOf';
    if (isClosed) jsonSchema.additionalProperties ??= false;
  };
  return { unrepresentable: 'any', override };
}

/** The property at a path of keywords, as in `["properties", "id"]`. */
function nameAt(path: (string | number)[]): string {
  return path.filter((step) => !['properties', 'items', 'anyOf', 'allOf', 'prefixItems'].includes(String(step))).join('.') || 'the schema';
}

/** Returns how values are converted before a schema reads them, or after it made them. */
export function planOfZod(schema: object, side: Side): WholePlan | undefined {
  const above = new Set<Schema>();
  const names = new Map<Schema, string>();
  const definitions: Record<string, Plan> = {};
  const of = (inner: Schema): Plan | undefined => {
    if (above.has(inner)) {
      names.set(inner, names.get(inner) ?? `z${names.size}`);
      return { d: names.get(inner)! };
    }
    above.add(inner);
    const { kind, def } = definitionOf(inner);
    const plan = planOfKind(kind, def, of, side);
    above.delete(inner);
    const name = names.get(inner);
    if (name === undefined || !plan) return plan;
    definitions[name] = plan;
    return { d: name };
  };
  return wholePlan(of(schema as Schema), definitions);
}

function planOfKind(kind: string, def: Definition, of: (schema: Schema) => Plan | undefined, side: Side): Plan | undefined {
  switch (kind) {
    case 'bigInt':
    case 'bigint':
      return 'bigint';
    case 'date':
      return 'date';
    case 'set':
      return { s: of(def.valueType) ?? 0 };
    case 'map':
      return { m: of(def.valueType) ?? 0, ...(definitionOf(def.keyType).kind === 'number' && { n: 1 }) };
    case 'array':
      return listPlan(of(def.element ?? def.type));
    case 'tuple': {
      const items: (Plan | 0)[] = def.items.map((each: Schema) => of(each) ?? 0);
      const rest = def.rest && of(def.rest);
      return rest || items.some(Boolean) ? { t: items, ...(rest && { l: rest }) } : undefined;
    }
    case 'record': {
      const r = of(def.valueType);
      return r && { r };
    }
    case 'object': {
      const plans = Object.entries<Schema>(shapeOf(def)).map(([name, each]) => [name, of(each)]);
      return objectPlan(Object.fromEntries(plans.filter(([, plan]) => plan)), def.catchall && of(def.catchall), {});
    }
    case 'union':
    case 'discriminatedUnion': {
      const alternatives = optionsOf(def).map((each): [object, Plan | 0] => [matcherOf(outlineOf(each, side)), of(each) ?? 0]);
      return alternatives.some(([, plan]) => plan) ? { u: alternatives.sort(([, a], [, b]) => Number(!a) - Number(!b)) } : undefined;
    }
    case 'intersection': {
      const [left, right] = [of(def.left), of(def.right)] as { o?: Record<string, Plan> }[];
      return left && right ? { ...left, ...right, o: { ...left.o, ...right.o } } : (left ?? right);
    }
    case 'lazy':
      return of(def.getter());
    default: {
      const inner = innerOf(def, side);
      return inner && of(inner);
    }
  }
}

function listPlan(l: Plan | undefined): Plan | undefined {
  return l && { l };
}

/** What tells an alternative of a union from the others. */
function outlineOf(schema: Schema, side: Side): Json {
  const { kind, def } = definitionOf(schema);
  const literal = (inner: Schema) => (definitionOf(inner).kind === 'literal' ? convert(inner, side) : {});
  const inner = ['array', 'map', 'record', 'set', 'tuple'].includes(kind) ? undefined : innerOf(def, side);
  return inner ? outlineOf(inner, side) : ofKind(kind, def, literal, side);
}

function innerOf(def: Definition, side: Side): Schema | undefined {
  return def.innerType ?? def.schema ?? (side === 'input' ? def.in : def.out);
}

function shapeOf({ shape }: Definition): Record<string, Schema> {
  return typeof shape === 'function' ? shape() : shape;
}

function optionsOf({ options }: Definition): Schema[] {
  return [...(options.values?.() ?? options)];
}

function definitionOf(schema: Schema): { kind: string; def: Definition } {
  const def = schema._zod?.def ?? schema._def!;
  const kind = def.typeName?.replace(/^Zod/, '') ?? String(def.type);
  return { kind: kind[0]!.toLowerCase() + kind.slice(1), def };
}

function convert(schema: Schema, side: Side): Json {
  const { kind, def } = definitionOf(schema);
  const json = ofKind(kind, def, (inner) => convert(inner, side), side);
  return schema.description === undefined ? json : { ...json, description: schema.description };
}

function ofKind(kind: string, def: Definition, of: (schema: Schema) => Json, side: Side): Json {
  const inner = innerOf(def, side);
  switch (kind) {
    case 'string':
      return { type: 'string', ...checksOf(def, 'Length') };
    case 'number':
      return { type: 'number', ...checksOf(def, 'imum') };
    case 'bigInt':
    case 'bigint':
      return { type: 'integer', ...numbersOf(checksOf(def, 'imum')) };
    case 'boolean':
    case 'null':
      return { type: kind };
    case 'date':
      return { type: 'string', format: 'date-time' };
    case 'literal':
      return { enum: def.values ?? [def.value] };
    case 'enum':
    case 'nativeEnum':
      return { enum: Array.isArray(def.values) ? def.values : valuesOf(def.entries ?? def.values) };
    case 'array':
      return { type: 'array', items: of(def.element ?? def.type), ...lengthsOf(def) };
    case 'set':
      return { type: 'array', items: of(def.valueType), uniqueItems: true };
    case 'map':
      return { type: 'object', additionalProperties: of(def.valueType) };
    case 'tuple':
      return { type: 'array', prefixItems: def.items.map(of), minItems: def.items.length, ...(def.rest ? { items: of(def.rest) } : { maxItems: def.items.length }) };
    case 'record':
      return { type: 'object', additionalProperties: of(def.valueType) };
    case 'object':
      return objectOf(shapeOf(def), def, of, side);
    case 'union':
    case 'discriminatedUnion':
      return { anyOf: optionsOf(def).map(of) };
    case 'intersection':
      return { allOf: [opened(of(def.left)), opened(of(def.right))] };
    case 'nullable':
      return { anyOf: [of(inner!), { type: 'null' }] };
    case 'default': {
      const value = typeof def.defaultValue === 'function' ? def.defaultValue() : def.defaultValue;
      return { ...of(inner!), ...(typeof value !== 'bigint' && { default: value }) };
    }
    default:
      // Optional, effects, pipes, brands, readonly: what is within them.
      return inner ? of(inner) : {};
  }
}

function objectOf(shape: Record<string, Schema>, def: Definition, of: (schema: Schema) => Json, side: Side): Json {
  const properties = Object.fromEntries(Object.entries(shape).map(([name, each]) => [name, of(each)]));
  const required = Object.keys(shape).filter((name) => !mayBeAbsent(shape[name]!, side));
  const catchall = def.catchall && definitionOf(def.catchall).kind;
  // zod 3 has a catchall of `never` where there is none.
  const isOpen = def.unknownKeys === 'passthrough' || (catchall !== undefined && catchall !== 'never');
  return { type: 'object', properties, ...(required.length > 0 && { required }), ...(!isOpen && { additionalProperties: false }) };
}

/** Each part of an intersection leaves the properties of the others to them. */
function opened({ additionalProperties, ...schema }: Json): Json {
  return additionalProperties === false ? schema : { ...schema, ...(additionalProperties !== undefined && { additionalProperties }) };
}

/** Bounds of big integers, where a number of JSON Schema can be one. */
function numbersOf(bounds: Json): Json {
  const numbers = Object.entries(bounds).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]);
  return Object.fromEntries(numbers.filter(([, value]) => Number.isSafeInteger(value)));
}

function mayBeAbsent(schema: Schema, side: Side): boolean {
  const { kind, def } = definitionOf(schema);
  if (kind === 'optional') return true;
  if (kind === 'default') return side === 'input';
  const inner = def.innerType ?? def.schema ?? def.in;
  return inner && kind !== 'array' ? mayBeAbsent(inner, side) : false;
}

/** The values of an enum of TypeScript, which may name its numbers too. */
function valuesOf(entries: Json): unknown[] {
  return Object.entries(entries).filter(([name]) => typeof entries[String(entries[name])] !== 'number').map(([, value]) => value);
}

function lengthsOf(def: Definition): Json {
  const { minLength: ofText, maxLength: mostOfText } = checksOf(def, 'Length');
  const [least, most] = [def.exactLength ?? def.minLength ?? { value: ofText }, def.exactLength ?? def.maxLength ?? { value: mostOfText }].map((each) => each.value as number | undefined);
  return { ...(least !== undefined && { minItems: least }), ...(most !== undefined && { maxItems: most }) };
}

const FORMATS: Record<string, string> = { email: 'email', url: 'uri', uuid: 'uuid', datetime: 'date-time', date: 'date', time: 'time', duration: 'duration' };

/** `what`: the end of keywords, of lengths or of numbers. */
function checksOf({ checks = [], format, check }: Definition, what: 'Length' | 'imum'): Json {
  const json: Json = {};
  const least = what === 'Length' ? 'minLength' : 'minimum';
  const most = what === 'Length' ? 'maxLength' : 'maximum';
  const note = (kind: string | undefined, value: unknown, inclusive = true): void => {
    if (kind === 'min' || kind === 'min_length' || kind === 'greater_than') json[inclusive ? least : 'exclusiveMinimum'] = value;
    else if (kind === 'max' || kind === 'max_length' || kind === 'less_than') json[inclusive ? most : 'exclusiveMaximum'] = value;
    else if (kind === 'length' || kind === 'length_equals') Object.assign(json, { [least]: value, [most]: value });
    else if (kind === 'multipleOf' || kind === 'multiple_of') json.multipleOf = value;
    else if (kind === 'int' || kind === 'safeint') json.type = 'integer';
    else if (kind === 'regex' && value instanceof RegExp) json.pattern = value.source;
    else if (kind && FORMATS[kind]) json.format = FORMATS[kind];
  };
  if (check) note(format, undefined);
  for (const each of checks) {
    const def = each._zod?.def;
    if (!def) note(each.kind, each.regex ?? each.value, each.inclusive);
    else note(def.check.endsWith('_format') ? def.format : def.check, def.pattern ?? def.value ?? def.minimum ?? def.maximum, def.inclusive);
  }
  return json;
}

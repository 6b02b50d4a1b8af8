/** JSON Schema of schemas of zod before 4.2, which cannot say it themselves. */

type Json = Record<string, unknown>;

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

/** Undefined if it is no schema of zod. */
export function jsonSchemaOfZod(schema: object, side: 'input' | 'output'): Json | undefined {
  const { _zod, _def } = schema as Schema;
  return _zod || _def?.typeName ? convert(schema as Schema, side) : undefined;
}

function definitionOf(schema: Schema): { kind: string; def: Definition } {
  const def = schema._zod?.def ?? schema._def!;
  const kind = def.typeName?.replace(/^Zod/, '') ?? String(def.type);
  return { kind: kind[0]!.toLowerCase() + kind.slice(1), def };
}

function convert(schema: Schema, side: 'input' | 'output'): Json {
  const { kind, def } = definitionOf(schema);
  const json = ofKind(kind, def, (inner) => convert(inner, side), side);
  return schema.description === undefined ? json : { ...json, description: schema.description };
}

function ofKind(kind: string, def: Definition, of: (schema: Schema) => Json, side: 'input' | 'output'): Json {
  const inner = def.innerType ?? def.schema ?? (side === 'input' ? def.in : def.out);
  switch (kind) {
    case 'string':
      return { type: 'string', ...checksOf(def, 'Length') };
    case 'number':
      return { type: 'number', ...checksOf(def, 'imum') };
    case 'bigInt':
    case 'bigint':
      return { type: 'integer' };
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
    case 'tuple':
      return { type: 'array', prefixItems: def.items.map(of), minItems: def.items.length, ...(def.rest ? { items: of(def.rest) } : { maxItems: def.items.length }) };
    case 'record':
      return { type: 'object', additionalProperties: of(def.valueType) };
    case 'object':
      return objectOf(typeof def.shape === 'function' ? def.shape() : def.shape, def, of, side);
    case 'union':
    case 'discriminatedUnion':
      return { anyOf: [...(def.options.values?.() ?? def.options)].map(of) };
    case 'intersection':
      return { allOf: [of(def.left), of(def.right)] };
    case 'nullable':
      return { anyOf: [of(inner), { type: 'null' }] };
    case 'default':
      return { ...of(inner), default: typeof def.defaultValue === 'function' ? def.defaultValue() : def.defaultValue };
    default:
      // Optional, effects, pipes, brands, readonly: what is within them.
      return inner ? of(inner) : {};
  }
}

function objectOf(shape: Record<string, Schema>, def: Definition, of: (schema: Schema) => Json, side: 'input' | 'output'): Json {
  const properties = Object.fromEntries(Object.entries(shape).map(([name, each]) => [name, of(each)]));
  const required = Object.keys(shape).filter((name) => !mayBeAbsent(shape[name]!, side));
  const isClosed = def.unknownKeys === 'strict' || side === 'output';
  return { type: 'object', properties, ...(required.length > 0 && { required }), ...(isClosed && { additionalProperties: false }) };
}

function mayBeAbsent(schema: Schema, side: 'input' | 'output'): boolean {
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

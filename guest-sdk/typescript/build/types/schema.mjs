// Converts a type to JSON Schema, and to a plan by which the runtime converts its values (runtime/convert.ts).
import { keywordsOf, misfit } from './docs.mjs';
import { objectPlan, wholePlan } from './plan.mjs';
import { unionSchema } from './union.mjs';

/** Generics that grow in each step end here. */
const MAX_DEPTH = 40;

/** A type that JSON cannot hold. */
export class Unsayable extends Error {
  constructor(what, node, suggestion) {
    super(what);
    this.node = node;
    this.suggestion = suggestion;
  }
}

/** Types of the language and the sandbox, by name: the text of JSON that stands for them, and the plan. */
const NAMED = {
  Date: [{ type: 'string', format: 'date-time' }, 'date'],
  URL: [{ type: 'string', format: 'uri' }, 'url'],
  Uint8Array: [{ type: 'string', contentEncoding: 'base64' }, 'bytes'],
  Buffer: [{ type: 'string', contentEncoding: 'base64' }, 'buffer'],
};

const NO_JSON = ['Promise', 'PromiseLike', 'RegExp', 'WeakMap', 'WeakSet', 'WeakRef', 'ArrayBuffer', 'DataView', 'Function', 'Iterator', 'Generator', 'AsyncGenerator', 'Error'];

/** Whether a type is imported from a module that was not read. */
export function isUnresolved({ intrinsicName }) {
  return intrinsicName === 'error' || intrinsicName === 'unresolved';
}

export class SchemaWriter {
  /**
   * `direction`: `input` or `output`. `isAmbient(file)` tells the files of the language and of the kit. Types that are
   * imported from where nothing was read are added to `unresolved`.
   */
  constructor(ts, checker, direction, isAmbient, unresolved) {
    Object.assign(this, { ts, checker, direction, isAmbient, unresolved });
    /** Types that contain themselves: their names, and what was made of them. */
    this.names = new Map();
    this.definitions = {};
    this.plans = {};
    this.above = [];
    this.depth = 0;
  }

  /** Returns `{schema, plan}` of a whole value. */
  write(type, node) {
    const { schema, plan } = this.of(type, node);
    const name = schema.$ref?.slice('#/$defs/'.length);
    const whole = name === undefined ? schema : { ...this.definitions[name], ...schema, $ref: undefined };
    delete whole.$ref;
    if (Object.keys(this.definitions).length > 0) whole.$defs = this.definitions;
    return { schema: whole, plan: wholePlan(plan, this.plans) };
  }

  /** `node`: the place that an error names. `typeNode`: how the type is written there, if it is. */
  of(type, node, typeNode) {
    if (this.depth > MAX_DEPTH) throw new Unsayable('the type has no end: each step makes another one', node, 'write a type that contains itself by its name');
    this.depth += 1;
    const { schema, plan } = this.ofType(type, node, typeNode);
    this.depth -= 1;
    const declarations = this.aliasesOf(typeNode);
    if (declarations.length === 0) return { schema, plan };
    const { description, ...keywords } = keywordsOf(this.ts, declarations);
    const isOwn = description && !declarations.some((each) => this.isAmbient(each.getSourceFile().fileName));
    return { schema: { ...schema, ...keywords, ...(isOwn && { description }) }, plan };
  }

  /** Declarations of the names with which a type is written, if they stand for a type without a comment of its own. */
  aliasesOf(typeNode) {
    if (!typeNode || !this.ts.isTypeReferenceNode(typeNode)) return [];
    let symbol = this.checker.getSymbolAtLocation(typeNode.typeName);
    if (symbol && symbol.flags & this.ts.SymbolFlags.Alias) symbol = this.checker.getAliasedSymbol(symbol);
    return (symbol?.declarations ?? []).filter((each) => this.ts.isTypeAliasDeclaration(each) && !this.isRecordLike(each.type));
  }

  isRecordLike(typeNode) {
    return this.ts.isTypeLiteralNode(typeNode);
  }

  ofType(type, node, typeNode) {
    const { TypeFlags } = this.ts;
    const has = (flags) => (type.flags & flags) !== 0;
    if (isUnresolved(type)) this.unresolved.add(type);
    if (has(TypeFlags.Any | TypeFlags.Unknown) || type.aliasSymbol?.name === 'JsonValue') return { schema: {} };
    if (has(TypeFlags.StringLiteral)) return { schema: { type: 'string', const: type.value } };
    if (has(TypeFlags.NumberLiteral)) return { schema: { type: Number.isInteger(type.value) ? 'integer' : 'number', const: type.value } };
    if (has(TypeFlags.BooleanLiteral)) return { schema: { type: 'boolean', const: this.checker.typeToString(type) === 'true' } };
    if (has(TypeFlags.TemplateLiteral)) return { schema: { type: 'string', pattern: this.patternOf(type) } };
    if (has(TypeFlags.String | TypeFlags.StringMapping)) return { schema: { type: 'string' } };
    if (has(TypeFlags.Number) || (has(TypeFlags.Enum) && !type.isUnion())) return { schema: { type: 'number' } };
    if (has(TypeFlags.BigInt)) return { schema: { type: 'integer' }, plan: 'bigint' };
    if (has(TypeFlags.Null)) return { schema: { type: 'null' } };
    if (has(TypeFlags.Boolean)) return { schema: { type: 'boolean' } };
    if (type.isUnion()) return this.inOwnFrame(type, node, () => unionSchema(this, type, node, typeNode));
    if (has(TypeFlags.Undefined | TypeFlags.Void)) throw new Unsayable('`undefined` alone is not JSON', node, 'make the property optional with `?`, or use `null`');
    if (has(TypeFlags.NonPrimitive)) return { schema: { type: 'object' } };
    if (has(TypeFlags.Never)) throw new Unsayable('no value has the type `never`', node);
    if (has(TypeFlags.ESSymbolLike)) throw new Unsayable('a symbol is not JSON', node, 'use a string');
    if (has(TypeFlags.TypeParameter | TypeFlags.Conditional | TypeFlags.IndexedAccess | TypeFlags.Substitution)) {
      const constraint = this.checker.getBaseConstraintOfType(type);
      return constraint && constraint !== type ? this.of(constraint, node) : { schema: {} };
    }
    const brand = type.isIntersection() ? type.types.find((each) => each.flags & (TypeFlags.StringLike | TypeFlags.NumberLike | TypeFlags.BigIntLike | TypeFlags.BooleanLike)) : undefined;
    if (brand) return this.of(brand, node);
    if (this.checker.isTupleType(type)) return this.ofTuple(type, node);
    if (this.checker.isArrayType(type)) return this.ofArray(type, node, typeNode);
    return this.inOwnFrame(type, node, () => this.ofObject(type, node));
  }

  /** Writes a type that may contain itself: then it is a definition with a name. */
  inOwnFrame(type, node, write) {
    if (this.above.includes(type)) {
      const name = this.names.get(type) ?? this.nameOf(type);
      this.names.set(type, name);
      return { schema: { $ref: `#/$defs/${name}` }, plan: { d: name } };
    }
    this.above.push(type);
    const { schema, plan } = write();
    this.above.pop();
    const name = this.names.get(type);
    if (name === undefined) return { schema, plan };
    this.definitions[name] = schema;
    if (plan) this.plans[name] = plan;
    return { schema: { $ref: `#/$defs/${name}` }, plan: plan && { d: name } };
  }

  nameOf(type) {
    const base = type.aliasSymbol?.name ?? (type.symbol?.name.startsWith('__') ? undefined : type.symbol?.name) ?? 'Value';
    const taken = [...this.names.values()];
    let name = base;
    for (let number = 2; taken.includes(name); number += 1) name = `${base}${number}`;
    return name;
  }

  ofObject(type, node) {
    const standard = this.ofStandard(type, node);
    if (standard) return standard;
    if (type.getCallSignatures().length > 0) throw new Unsayable('a function is not JSON', node, 'take what the function would return, or a name for it');
    if (type.getConstructSignatures().length > 0) throw new Unsayable('a class is not JSON', node, 'take the name of the class as a string');
    return this.ofRecord(type, node);
  }

  ofArray(type, node, typeNode) {
    const item = typeNode && this.ts.isArrayTypeNode(typeNode) ? typeNode.elementType : typeNode?.typeArguments?.[0];
    const { schema, plan } = this.of(this.checker.getTypeArguments(type)[0], node, item);
    return { schema: { type: 'array', items: schema }, plan: plan && { l: plan } };
  }

  ofTuple(type, node) {
    const { elementFlags } = type.target;
    const { ElementFlags } = this.ts;
    const items = this.checker.getTypeArguments(type).map((each) => this.of(this.withoutUndefined(each), node));
    const rest = elementFlags.findIndex((flags) => flags & ElementFlags.Variable);
    const fixed = rest < 0 ? items : items.slice(0, rest);
    if (rest >= 0 && rest !== items.length - 1) throw new Unsayable('a tuple has its `...` at its end', node);
    const least = elementFlags.filter((flags) => flags & ElementFlags.Required).length;
    const end = rest < 0 ? { maxItems: fixed.length } : { items: items[rest].schema };
    const plans = fixed.map(({ plan }) => plan ?? 0);
    const hasPlan = items.some(({ plan }) => plan);
    return {
      schema: { type: 'array', prefixItems: fixed.map(({ schema }) => schema), minItems: least, ...end },
      plan: hasPlan ? { t: plans, ...(rest >= 0 && items[rest].plan && { l: items[rest].plan }) } : undefined,
    };
  }

  /** Classes of the language. */
  ofStandard(type, node) {
    const { name, declarations = [] } = type.symbol ?? {};
    if (!declarations.some((each) => this.isAmbient(each.getSourceFile().fileName))) return undefined;
    if (Object.hasOwn(NAMED, name)) {
      const [schema, plan] = NAMED[name];
      return { schema, plan };
    }
    if (NO_JSON.includes(name)) throw new Unsayable(`a ${name} is not JSON`, node, name === 'RegExp' ? 'take the pattern as a string' : 'take plain values');
    const [first, second] = this.checker.getTypeArguments(type);
    if (name === 'Set' || name === 'ReadonlySet') {
      const { schema, plan } = this.of(first, node);
      return { schema: { type: 'array', items: schema, uniqueItems: true }, plan: { s: plan ?? 0 } };
    }
    if (name === 'Map' || name === 'ReadonlyMap') return this.ofMap(first, second, node);
    return undefined;
  }

  ofMap(key, value, node) {
    const keys = this.of(key, node).schema;
    if (keys.type !== 'string' && keys.type !== 'number') throw new Unsayable('the keys of a Map are not strings', node, 'use a Map with strings as keys, or a list of pairs');
    const { schema, plan } = this.of(value, node);
    const names = keys.type === 'number' ? { pattern: '^-?[0-9]+(\\.[0-9]+)?$' } : { ...keys, type: undefined };
    delete names.type;
    const propertyNames = Object.keys(names).length > 0 ? { propertyNames: names } : {};
    return {
      schema: { type: 'object', additionalProperties: schema, ...propertyNames },
      plan: { m: plan ?? 0, ...(keys.type === 'number' && { n: 1 }) },
    };
  }

  ofRecord(type, node) {
    const { checker, ts } = this;
    const isInput = this.direction === 'input';
    const properties = {};
    const required = [];
    const plans = {};
    for (const symbol of checker.getPropertiesOfType(type)) {
      if (symbol.name.startsWith('__@')) continue;
      const declaration = symbol.valueDeclaration ?? symbol.declarations?.[0];
      const place = declaration && !this.isAmbient(declaration.getSourceFile().fileName) ? declaration : node;
      this.refusePrivate(declaration, place, symbol.name);
      const full = checker.getTypeOfSymbolAtLocation(symbol, place);
      const isOptional = (symbol.flags & ts.SymbolFlags.Optional) !== 0;
      const value = this.withoutUndefined(full);
      if (!isInput && this.isOmitted(value)) continue;
      const { schema, plan } = this.of(value, place, declaration?.type);
      const keywords = keywordsOf(ts, symbol.declarations ?? []);
      properties[symbol.name] = merged(schema, keywords);
      const hasDefault = Object.hasOwn(keywords, 'default');
      if (hasDefault) refuseDefault(properties[symbol.name], keywords.default, place);
      const mayBeAbsent = isOptional || this.mayBeUndefined(full) || (isInput && hasDefault);
      if (!mayBeAbsent) required.push(symbol.name);
      if (plan) plans[symbol.name] = plan;
    }
    const index = checker.getIndexInfosOfType(type)[0];
    const rest = index && !(index.type.flags & ts.TypeFlags.Never) ? this.of(this.withoutUndefined(index.type), node) : undefined;
    const closed = isInput || (index && !rest) ? { additionalProperties: false } : {};
    const declarations = [...(type.symbol?.declarations ?? []), ...(type.aliasSymbol?.declarations ?? [])];
    const own = declarations.filter((each) => !this.isAmbient(each.getSourceFile().fileName));
    const schema = {
      ...keywordsOf(ts, own.filter((each) => ts.isTypeAliasDeclaration(each) || ts.isInterfaceDeclaration(each) || ts.isClassDeclaration(each))),
      type: 'object',
      ...(rest && Object.keys(properties).length === 0 ? {} : { properties }),
      ...(required.length > 0 && { required }),
      ...(rest ? { additionalProperties: rest.schema } : closed),
    };
    return { schema, plan: objectPlan(plans, rest?.plan, isInput ? defaultsOf(properties) : {}) };
  }

  /** JSON.stringify leaves them out. */
  isOmitted(type) {
    return type.getCallSignatures().length > 0 || (type.flags & this.ts.TypeFlags.Undefined) !== 0;
  }

  refusePrivate(declaration, place, name) {
    const isPrivate = declaration && this.ts.getCombinedModifierFlags(declaration) & (this.ts.ModifierFlags.Private | this.ts.ModifierFlags.Protected);
    if (isPrivate || name.startsWith('__#')) throw new Unsayable('a class with private state is not JSON', place, 'use an interface with the fields that the value has');
  }

  /** The type of a value that is there. A union keeps its `undefined`, which unionSchema leaves out. */
  withoutUndefined(type) {
    if (!type.isUnion()) return type;
    const rest = type.types.filter(({ flags }) => !(flags & this.ts.TypeFlags.Undefined));
    return rest.length === 1 ? rest[0] : type;
  }

  mayBeUndefined(type) {
    return type.isUnion() && type.types.some(({ flags }) => flags & this.ts.TypeFlags.Undefined);
  }

  patternOf({ texts, types }) {
    const escaped = texts.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    const parts = types.map(({ flags }) => (flags & this.ts.TypeFlags.NumberLike ? '-?[0-9]+(\\.[0-9]+)?' : flags & this.ts.TypeFlags.BigIntLike ? '-?[0-9]+' : '[\\s\\S]*'));
    return `^${escaped.map((text, index) => text + (parts[index] ?? '')).join('')}$`;
  }
}

/** Refuses a default that a call could not pass. */
export function refuseDefault(schema, value, node) {
  const why = misfit(schema, value);
  if (why) throw new Unsayable(`the default ${JSON.stringify(value)} ${why}`, node, 'correct the default, or what the comment says of the value');
}

/** Adds what a comment says to a schema. A reference stays one. */
function merged(schema, keywords) {
  if (keywords.type === 'integer') return { ...schema, ...keywords, type: Array.isArray(schema.type) ? ['integer', 'null'] : 'integer' };
  return { ...schema, ...keywords };
}

function defaultsOf(properties) {
  const entries = Object.entries(properties).filter(([, schema]) => Object.hasOwn(schema, 'default'));
  return Object.fromEntries(entries.map(([name, schema]) => [name, schema.default]));
}

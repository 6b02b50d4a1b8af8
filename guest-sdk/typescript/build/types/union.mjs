// Converts a union: alternatives of literals are an `enum`, and `null` may stand beside one type.
import { matcherOf } from './plan.mjs';

/** Returns `{schema, plan}`. */
export function unionSchema(writer, union, node, typeNode) {
  const { TypeFlags } = writer.ts;
  const types = union.types.filter(({ flags }) => !(flags & (TypeFlags.Undefined | TypeFlags.Null)));
  const isNullable = union.types.some(({ flags }) => flags & TypeFlags.Null);
  const strings = types.filter((type) => type.isStringLiteral());
  const numbers = types.filter((type) => type.isNumberLiteral());
  const booleans = types.filter(({ flags }) => flags & TypeFlags.BooleanLiteral);
  const alternatives = types.filter((type) => !strings.includes(type) && !numbers.includes(type) && !booleans.includes(type)).map((type) => writer.of(type, node));
  if (strings.length > 0) alternatives.unshift({ schema: literals('string', strings) });
  if (numbers.length > 0) alternatives.unshift({ schema: literals(numbers.every(({ value }) => Number.isInteger(value)) ? 'integer' : 'number', numbers) });
  if (booleans.length === 2) alternatives.push({ schema: { type: 'boolean' } });
  if (booleans.length === 1) alternatives.push(writer.of(booleans[0], node));
  if (alternatives.length === 1) return nullable(alternatives[0], isNullable);
  const anyOf = alternatives.map(({ schema }) => schema);
  const hasPlan = alternatives.some(({ plan }) => plan);
  // Conversions are tried first: a date is also a string.
  const ordered = [...alternatives].sort((a, b) => Number(!a.plan) - Number(!b.plan));
  return {
    schema: { anyOf: isNullable ? [...anyOf, { type: 'null' }] : anyOf },
    plan: hasPlan ? { u: ordered.map(({ schema, plan }) => [matcherOf(schema, writer.definitions), plan ?? 0]) } : undefined,
  };
}

function literals(type, members) {
  const values = members.map(({ value }) => value);
  return values.length === 1 ? { type, const: values[0] } : { type, enum: values };
}

function nullable({ schema, plan }, isNullable) {
  if (!isNullable) return { schema, plan };
  const simple = typeof schema.type === 'string' && !('const' in schema) && schema.type !== 'object';
  if (!simple) return { schema: { anyOf: [schema, { type: 'null' }] }, plan };
  const values = schema.enum && { enum: [...schema.enum, null] };
  return { schema: { ...schema, type: [schema.type, 'null'], ...values }, plan };
}

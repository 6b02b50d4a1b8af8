/** Schemas of packages such as zod, valibot and arktype: https://standardschema.dev, and plain JSON Schema. */

import { jsonSchemaOfZod } from './zod';

type JsonSchema = Record<string, unknown>;

interface Issue {
  message: string;
  path?: readonly (PropertyKey | { key: PropertyKey })[];
}

interface Standard {
  validate(value: unknown): Result | Promise<Result>;
  jsonSchema?: Record<'input' | 'output', (options: { target: string }) => JsonSchema>;
}

type Result = { value: unknown; issues?: undefined } | { issues: readonly Issue[] };

export type Schema = { '~standard': Standard } | JsonSchema;

function standardOf(schema: Schema): Standard | undefined {
  return (schema as { '~standard'?: Standard })['~standard'];
}

/** Returns JSON Schema of what a schema takes or makes. Undefined if the package does not say it. */
export function jsonSchemaOf(schema: Schema, side: 'input' | 'output'): JsonSchema | undefined {
  const standard = standardOf(schema);
  if (!standard) return schema as JsonSchema;
  const { $schema, ...json } = standard.jsonSchema?.[side]({ target: 'draft-2020-12' }) ?? jsonSchemaOfZod(schema, side) ?? {};
  return Object.keys(json).length > 0 ? json : undefined;
}

/** Returns what a schema makes of a value. Throws what it finds wrong. */
export async function validated(schema: Schema, value: unknown, what: 'input' | 'output'): Promise<unknown> {
  const standard = standardOf(schema);
  if (!standard) return value;
  const result = await standard.validate(value);
  if (!result.issues) return result.value;
  const text = result.issues.map(({ path = [], message }) => `${what}${path.map(step).join('')}: ${message}`).join('; ');
  throw Object.assign(new Error(text), {
    name: what === 'input' ? 'InvalidInputError' : 'InvalidOutputError',
    code: what === 'input' ? 'INVALID_INPUT' : 'INVALID_OUTPUT',
    suggestion: what === 'input' ? 'pass what the parameters of the tool say' : 'the author must correct the tool: its result does not fit its own schema',
  });
}

function step(part: PropertyKey | { key: PropertyKey }): string {
  const key = typeof part === 'object' ? part.key : part;
  return typeof key === 'number' ? `[${key}]` : `.${String(key)}`;
}

/** Schemas of packages such as zod, valibot and arktype: https://standardschema.dev, and plain JSON Schema. */

import { standardOf } from '../package/index.js';
import type { WholePlan } from './convert';
import { inJson, isOfZod, jsonSchemaOfZod, planOfZod, type Side } from './zod';

type JsonSchema = Record<string, unknown>;

interface Standard {
  jsonSchema?: Record<Side, (options: { target: string; libraryOptions?: object }) => JsonSchema>;
}

export type Schema = { '~standard': Standard } | JsonSchema;

/** Returns JSON Schema of what a schema takes or makes. Undefined if the package does not say it. */
export function jsonSchemaOf(schema: Schema, side: Side): JsonSchema | undefined {
  const standard: Standard | undefined = standardOf(schema);
  if (!standard) return schema as JsonSchema;
  const libraryOptions = isOfZod(schema) ? inJson(side) : undefined;
  const { $schema, ...json } = standard.jsonSchema?.[side]({ target: 'draft-2020-12', libraryOptions }) ?? jsonSchemaOfZod(schema, side) ?? {};
  return Object.keys(json).length > 0 ? json : undefined;
}

/** Returns how values that JSON has not are converted before a schema reads them, or after it made them. */
export function planOf(schema: Schema | undefined, side: Side): WholePlan | undefined {
  return schema && isOfZod(schema) ? planOfZod(schema, side) : undefined;
}

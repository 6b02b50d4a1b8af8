// Plans: how the runtime converts a value that is JSON. runtime/convert.ts says what they look like.

/** Returns the plan of a record. Undefined if nothing of it is converted. */
export function objectPlan(properties, rest, defaults) {
  const plan = {
    ...(Object.keys(properties).length > 0 && { o: properties }),
    ...(rest && { r: rest }),
    ...(Object.keys(defaults).length > 0 && { v: defaults }),
  };
  return Object.keys(plan).length > 0 ? plan : undefined;
}

/**
 * Returns what tells an alternative of a union from the others: the type in JSON (`t`), its values (`c`), the format of a
 * text (`f`), properties that must be there (`q`), and properties with these values (`k`).
 */
export function matcherOf(schema) {
  const { type, format, contentEncoding, required, properties = {} } = schema;
  const values = valuesOf(schema);
  const kinds = Object.entries(properties).map(([name, each]) => [name, valuesOf(each)]).filter(([, each]) => each);
  return {
    ...(type && { t: type }),
    ...(values && { c: values }),
    ...((format || contentEncoding) && { f: format ?? contentEncoding }),
    ...(required && { q: required }),
    ...(kinds.length > 0 && { k: Object.fromEntries(kinds) }),
  };
}

function valuesOf(schema) {
  if (Object.hasOwn(schema, 'const')) return [schema.const];
  return schema.enum;
}

/** Returns a plan with the definitions that it needs. Undefined if nothing is converted. */
export function wholePlan(plan, definitions) {
  const acting = new Set();
  const acts = (part) => {
    if (!part) return false;
    if (typeof part === 'string' || part.s !== undefined || part.m !== undefined || part.v) return true;
    if (part.d) return acting.has(part.d);
    const parts = [...Object.values(part.o ?? {}), part.r, part.l, ...(part.t ?? []), ...(part.u ?? []).map(([, each]) => each)];
    return parts.some(acts);
  };
  // A definition may act only by another one.
  for (let before = -1; before !== acting.size; ) {
    before = acting.size;
    for (const [name, each] of Object.entries(definitions)) if (acts(each)) acting.add(name);
  }
  if (!acts(plan)) return undefined;
  return acting.size > 0 ? { plan, definitions: Object.fromEntries([...acting].map((name) => [name, definitions[name]])) } : { plan };
}

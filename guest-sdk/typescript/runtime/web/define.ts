/** Adds a global that the engine lacks. */
export function defineMissing(globals: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(globals)) if (!(name in globalThis)) define(name, value);
}

/** Adds or replaces a global. It is not enumerable, as those of engines. */
export function define(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

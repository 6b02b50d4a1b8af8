/** Adds globals, or replaces those of the engine: StarlingMonkey has some of these in part. They are not enumerable. */
export function define(globals: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
}

/** The calls of tools that a script makes, with their places. */

type ToolFunction = (...given: unknown[]) => Promise<unknown>;

export interface Call {
  /** As the script has it: `tools["file-system__read"]`. */
  written: string;
  stack: string | undefined;
}

export class Calls {
  readonly running = new Set<Call>();
  /** Whether the script has used the tools. */
  areUsed = false;

  /** Returns an object through which the script uses the tools. */
  follow(tools: object, path = 'tools'): object {
    const functions = new Map<PropertyKey, unknown>();
    const get = (key: string | symbol): unknown => {
      this.areUsed = true;
      const known = functions.get(key);
      if (known !== undefined) return known;
      const value: unknown = Reflect.get(tools, key);
      if (typeof key === 'symbol') return value;
      const written = /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
      const followed = typeof value === 'function' ? this.#called(value as ToolFunction, written) : typeof value === 'object' && value !== null ? this.follow(value, written) : value;
      functions.set(key, followed);
      return followed;
    };
    return new Proxy(Object.create(null) as object, {
      get: (_, key) => get(key),
      has: (_, key) => Reflect.has(tools, key),
      ownKeys: () => Reflect.ownKeys(tools),
      getOwnPropertyDescriptor: (_, key) => Reflect.has(tools, key) ? { value: get(key), enumerable: true, configurable: true } : undefined,
      set: () => false,
      defineProperty: () => false,
      deleteProperty: () => false,
      setPrototypeOf: () => false,
      preventExtensions: () => false,
    });
  }

  #called(act: ToolFunction, written: string): ToolFunction {
    return (...given) => {
      const call = { written, stack: new Error().stack };
      this.running.add(call);
      return act(...given).then(
        (value) => {
          this.running.delete(call);
          return value;
        },
        (error: unknown) => {
          this.running.delete(call);
          // Where the script called: the error was made where the call had ended.
          if (error instanceof Error) Object.defineProperty(error, 'stack', { value: call.stack, configurable: true, writable: true });
          throw error;
        },
      );
    };
  }
}

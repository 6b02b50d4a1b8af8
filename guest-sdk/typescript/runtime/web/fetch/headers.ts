/** `Headers` as the Fetch Standard has them. */

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

export type HeadersInit = Headers | Iterable<readonly [string, string]> | Record<string, string>;

export class Headers {
  /** Values by lower-case names. */
  #values = new Map<string, string[]>();

  constructor(init?: HeadersInit | null) {
    if (init === undefined || init === null) return;
    if (typeof init !== 'object') throw new TypeError('Headers are made of an object, or of pairs of name and value');
    const pairs = Symbol.iterator in init ? (init as Iterable<readonly [string, string]>) : Object.entries(init);
    for (const pair of pairs) {
      const [name, value, ...rest] = [...pair] as string[];
      if (name === undefined || value === undefined || rest.length > 0) throw new TypeError('each header is a pair of name and value');
      this.append(name, value);
    }
  }

  append(name: string, value: string): void {
    const key = nameOf(name);
    const values = this.#values.get(key);
    if (values) values.push(valueOf(name, value));
    else this.#values.set(key, [valueOf(name, value)]);
  }

  set(name: string, value: string): void {
    this.#values.set(nameOf(name), [valueOf(name, value)]);
  }

  get(name: string): string | null {
    return this.#values.get(nameOf(name))?.join(', ') ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(nameOf(name));
  }

  delete(name: string): void {
    this.#values.delete(nameOf(name));
  }

  getSetCookie(): string[] {
    return [...(this.#values.get('set-cookie') ?? [])];
  }

  forEach(act: (value: string, name: string, headers: this) => void, self?: unknown): void {
    for (const [name, value] of this) act.call(self, value, name, this);
  }

  /** In the order of the names. Values of one name are joined, except for cookies. */
  *entries(): IterableIterator<[string, string]> {
    for (const [name, values] of [...this.#values].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (name === 'set-cookie') for (const value of values) yield [name, value];
      else yield [name, values.join(', ')];
    }
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }

  get [Symbol.toStringTag](): string {
    return 'Headers';
  }
}

function nameOf(name: unknown): string {
  const text = String(name);
  if (!NAME.test(text)) throw new TypeError(`${JSON.stringify(text)} is not a name of a header`);
  return text.toLowerCase();
}

function valueOf(name: unknown, value: unknown): string {
  const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
  if (/[\0\r\n]|[^\0-\xff]/.test(text)) throw new TypeError(`the value of the header ${String(name)} has a character that no header may have`);
  return text;
}

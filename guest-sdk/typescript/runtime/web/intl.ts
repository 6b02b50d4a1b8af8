/**
 * `Intl` in English of the United States and in UTC, where the engine has none: it has no data of languages and time zones.
 * As an engine with little data does, it takes another language and answers in this one; another time zone is a
 * RangeError.
 */
import { Collator, compare } from './intl/collator';
import { DateTimeFormat, dateText } from './intl/date-time';
import { ListFormat, PluralRules, RelativeTimeFormat, Segmenter } from './intl/words';
import { NumberFormat } from './intl/number';
import { define } from './define';

class DisplayNames {
  readonly #fallback: string;

  constructor(_: unknown, options: { fallback?: string } = {}) {
    this.#fallback = options.fallback ?? 'code';
  }

  of(code: string): string | undefined {
    return this.#fallback === 'code' ? code : undefined;
  }
}

class Locale {
  readonly baseName: string;
  readonly language: string;
  readonly region: string | undefined;

  constructor(tag: string) {
    this.baseName = String(tag);
    this.language = this.baseName.split('-')[0]!;
    this.region = /-([A-Z]{2})\b/.exec(this.baseName)?.[1];
  }

  toString(): string {
    return this.baseName;
  }
}

/** Lets a class be called as a function, as these three can be. */
function callable<T extends object>(Class: T): T {
  return new Proxy(Class, { apply: (target, _, args) => Reflect.construct(target as unknown as Function, args) });
}

const formats = { Collator: callable(Collator), DateTimeFormat: callable(DateTimeFormat), DisplayNames, ListFormat, NumberFormat: callable(NumberFormat), PluralRules, RelativeTimeFormat, Segmenter };

if (!('Intl' in globalThis)) {
  for (const Format of Object.values(formats)) Object.assign(Format, { supportedLocalesOf: (tags: string | string[]) => [tags].flat().filter((tag) => /^en\b/.test(tag)) });
  define({ Intl: { ...formats, Locale, getCanonicalLocales: (tags: string | string[] = []) => [tags].flat(), supportedValuesOf: () => [] } });
  const method = (target: object, name: string, value: unknown) => Object.defineProperty(target, name, { value, writable: true, configurable: true });
  method(Number.prototype, 'toLocaleString', function (this: number, locales?: unknown, options?: any) {
    return new NumberFormat(locales, options).format(Number(this));
  });
  method(BigInt.prototype, 'toLocaleString', function (this: bigint, locales?: unknown, options?: any) {
    return new NumberFormat(locales, options).format(BigInt(this as bigint));
  });
  method(String.prototype, 'localeCompare', function (this: string, other: string, _?: unknown, options?: object) {
    return compare(String(this), String(other), options);
  });
  for (const [name, defaults] of Object.entries({ toLocaleString: 'any', toLocaleDateString: 'date', toLocaleTimeString: 'time' })) {
    method(Date.prototype, name, function (this: Date, _?: unknown, options?: any) {
      return dateText(this, defaults as 'any', options);
    });
  }
}



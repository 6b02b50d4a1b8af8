/** Writes numbers as in English of the United States. */
import { LOCALE } from './locale';

interface Options {
  style?: 'decimal' | 'percent' | 'currency' | 'unit';
  currency?: string;
  currencyDisplay?: 'symbol' | 'narrowSymbol' | 'code' | 'name';
  unit?: string;
  unitDisplay?: 'short' | 'long' | 'narrow';
  notation?: 'standard' | 'compact' | 'scientific' | 'engineering';
  compactDisplay?: 'short' | 'long';
  signDisplay?: 'auto' | 'always' | 'never' | 'exceptZero' | 'negative';
  useGrouping?: boolean | string;
  minimumIntegerDigits?: number;
  minimumFractionDigits?: number;
  maximumFractionDigits?: number;
  minimumSignificantDigits?: number;
  maximumSignificantDigits?: number;
}

interface Part {
  type: string;
  value: string;
}

const SYMBOLS: Record<string, string> = {
  USD: '$', EUR: '€', GBP: '£', JPY: '¥', CNY: 'CN¥', KRW: '₩', INR: '₹', BRL: 'R$', CAD: 'CA$', AUD: 'A$', NZD: 'NZ$', MXN: 'MX$', HKD: 'HK$', TWD: 'NT$', ILS: '₪', VND: '₫', PHP: '₱',
};

/** Currencies without a smaller coin. */
const WHOLE = ['JPY', 'KRW', 'VND', 'CLP', 'ISK', 'UGX', 'XAF', 'XOF', 'XPF', 'PYG', 'RWF', 'KMF', 'GNF', 'DJF', 'BIF', 'VUV'];

const SHORT = ['', 'K', 'M', 'B', 'T'];
const LONG = ['', ' thousand', ' million', ' billion', ' trillion'];

/** Units with their short signs. */
const UNITS: Record<string, string> = {
  byte: ' byte', kilobyte: ' kB', megabyte: ' MB', gigabyte: ' GB', terabyte: ' TB', percent: '%', celsius: '°C', fahrenheit: '°F', degree: ' deg', meter: ' m', kilometer: ' km', centimeter: ' cm', millimeter: ' mm',
  mile: ' mi', foot: ' ft', inch: ' in', gram: ' g', kilogram: ' kg', pound: ' lb', ounce: ' oz', liter: ' L', milliliter: ' mL', second: ' sec', millisecond: ' ms', minute: ' min', hour: ' hr',
};

export class NumberFormat {
  readonly #options: Options;

  constructor(_?: unknown, options: Options = {}) {
    this.#options = { ...options };
    if (options.style === 'currency' && !/^[A-Za-z]{3}$/.test(options.currency ?? '')) throw new TypeError('Currency code is required with currency style.');
    for (const [name, most] of [['minimumFractionDigits', 100], ['maximumFractionDigits', 100], ['maximumSignificantDigits', 21]] as const) {
      const value = options[name];
      if (value !== undefined && !(value >= 0 && value <= most)) throw new RangeError(`${name} value is out of range.`);
    }
  }

  get format(): (value: number | bigint | string) => string {
    return (value) => this.formatToParts(value).map((part) => part.value).join('');
  }

  formatToParts(value: number | bigint | string): Part[] {
    const { style, currency = '', signDisplay = 'auto', unit = '', unitDisplay = 'short', currencyDisplay = 'symbol' } = this.#options;
    const number = typeof value === 'bigint' ? value : Number(value);
    const isNegative = number < 0 || Object.is(number, -0);
    const { text, suffix } = this.#magnitude(typeof number === 'bigint' ? (isNegative ? -number : number) : Math.abs(number));
    const isZero = /^[0.,]*$/.test(text);
    const sign =
      isNegative && signDisplay !== 'never' && !(isZero && (signDisplay === 'exceptZero' || signDisplay === 'negative'))
        ? [{ type: 'minusSign', value: '-' }]
        : !isNegative && (signDisplay === 'always' || (signDisplay === 'exceptZero' && !isZero))
          ? [{ type: 'plusSign', value: '+' }]
          : [];
    const digits = parts(text).concat(suffix ? [{ type: 'compact', value: suffix }] : []);
    if (style === 'percent') return [...sign, ...digits, { type: 'percentSign', value: '%' }];
    if (style === 'unit') {
      const isOne = text === '1';
      const name = unitDisplay === 'long' ? ` ${unit}${isOne ? '' : 's'}` : (UNITS[unit] ?? ` ${unit}`);
      return [...sign, ...digits, { type: 'unit', value: name }];
    }
    if (style !== 'currency') return [...sign, ...digits];
    const code = currency.toUpperCase();
    if (currencyDisplay === 'name') return [...sign, ...digits, { type: 'literal', value: ' ' }, { type: 'currency', value: code }];
    const symbol = currencyDisplay === 'code' ? code : (SYMBOLS[code] ?? code);
    const space = /[A-Z]$/.test(symbol) && /^\d/.test(text) ? [{ type: 'literal', value: '\u00a0' }] : [];
    return [...sign, { type: 'currency', value: symbol }, ...space, ...digits];
  }

  /** Returns the digits of a number that is not negative. */
  #magnitude(number: number | bigint): { text: string; suffix: string } {
    const { style, notation, compactDisplay, useGrouping = true, minimumIntegerDigits = 1 } = this.#options;
    if (number === Infinity || Number.isNaN(number)) return { text: number === Infinity ? '∞' : 'NaN', suffix: '' };
    let value = number;
    let suffix = '';
    if (style === 'percent') value = typeof value === 'bigint' ? value * 100n : Number(`${value}e2`) || value * 100;
    if (notation === 'compact') {
      const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(1, Math.round(Number(value)))) / 3)));
      value = Number(value) / 1000 ** power;
      suffix = (compactDisplay === 'long' ? LONG : SHORT)[power]!;
    } else if (notation === 'scientific' || notation === 'engineering') {
      const exponent = Number(value) === 0 ? 0 : Math.floor(Math.log10(Number(value)));
      const shown = notation === 'engineering' ? Math.floor(exponent / 3) * 3 : exponent;
      value = Number(value) / 10 ** shown;
      suffix = `E${shown}`;
    }
    const [integer = '0', fraction = ''] = this.#rounded(value).split('.');
    const padded = integer.padStart(minimumIntegerDigits, '0');
    const isGrouped = useGrouping !== false && useGrouping !== 'false' && (notation !== 'compact' || padded.length > 4);
    const grouped = isGrouped ? padded.replace(/\B(?=(\d{3})+$)/g, ',') : padded;
    return { text: fraction ? `${grouped}.${fraction}` : grouped, suffix };
  }

  #rounded(value: number | bigint): string {
    const { minimumSignificantDigits, maximumSignificantDigits = minimumSignificantDigits === undefined ? undefined : 21, notation } = this.#options;
    if (typeof value === 'bigint') return String(value) + (this.#digits.minimum > 0 ? `.${'0'.repeat(this.#digits.minimum)}` : '');
    const compact = notation === 'compact' && this.#options.maximumFractionDigits === undefined && maximumSignificantDigits === undefined;
    if (compact) return value < 100 ? shortened(plain(value.toPrecision(2)), 0) : String(Math.round(value));
    if (maximumSignificantDigits !== undefined) {
      const text = plain(value.toPrecision(Math.min(100, maximumSignificantDigits)));
      const whole = value === 0 ? 1 : text.split('.')[0]!.replace(/^0+/, '').length;
      return shortened(text, Math.max(0, (minimumSignificantDigits ?? 1) - whole));
    }
    const { minimum, maximum } = this.#digits;
    return shortened(fixed(value, maximum), minimum);
  }

  get #digits(): { minimum: number; maximum: number } {
    const { style, currency = '', minimumFractionDigits, maximumFractionDigits } = this.#options;
    const ofStyle = style === 'currency' ? (WHOLE.includes(currency.toUpperCase()) ? [0, 0] : [2, 2]) : style === 'percent' ? [0, 0] : [0, 3];
    const minimum = minimumFractionDigits ?? Math.min(ofStyle[0]!, maximumFractionDigits ?? Infinity);
    return { minimum, maximum: maximumFractionDigits ?? Math.max(ofStyle[1]!, minimum) };
  }

  resolvedOptions(): object {
    const { minimum, maximum } = this.#digits;
    return { locale: LOCALE, numberingSystem: 'latn', style: 'decimal', minimumIntegerDigits: 1, useGrouping: 'auto', notation: 'standard', signDisplay: 'auto', ...this.#options, minimumFractionDigits: minimum, maximumFractionDigits: maximum };
  }

  formatRange(from: number, to: number): string {
    return `${this.format(from)} – ${this.format(to)}`;
  }
}

/** As `toFixed`, by the decimal digits of the number: half of them away from zero, as `Intl`. */
function fixed(value: number, digits: number): string {
  if (value >= 1e21) return plain(String(value));
  const text = plain(String(value));
  const [integer = '0', fraction = ''] = text.split('.');
  if (fraction.length <= digits) return text;
  const kept = BigInt(integer + fraction.slice(0, digits)) + (fraction[digits]! >= '5' ? 1n : 0n);
  const all = kept.toString().padStart(digits + 1, '0');
  return digits === 0 ? all : `${all.slice(0, -digits)}.${all.slice(-digits)}`;
}

/** Writes `1.5e+21` with all its digits. */
function plain(text: string): string {
  const [, integer = text, fraction = '', exponent] = /^(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text) ?? [];
  if (exponent === undefined) return text;
  const power = Number(exponent);
  if (power < 0) return `0.${'0'.repeat(-power - 1)}${integer}${fraction}`;
  return integer + fraction.padEnd(power, '0').slice(0, power) + (fraction.length > power ? `.${fraction.slice(power)}` : '');
}

/** Cuts zeros at the end of a fraction, down to `minimum` digits, and adds them up to it. */
function shortened(text: string, minimum: number): string {
  const [integer = '0', fraction = ''] = text.split('.');
  const cut = fraction.replace(/0+$/, '').padEnd(minimum, '0');
  return cut === '' ? integer : `${integer}.${cut}`;
}

function parts(text: string): Part[] {
  if (text === '∞' || text === 'NaN') return [{ type: text === 'NaN' ? 'nan' : 'infinity', value: text }];
  const [integer = '', fraction] = text.split('.');
  const groups = integer.split(',').flatMap((value, index) => [...(index > 0 ? [{ type: 'group', value: ',' }] : []), { type: 'integer', value }]);
  return fraction === undefined ? groups : [...groups, { type: 'decimal', value: '.' }, { type: 'fraction', value: fraction }];
}

/** Writes dates as in English of the United States, in UTC. */
import { LOCALE } from './locale';

type Width = 'numeric' | '2-digit' | 'long' | 'short' | 'narrow';

interface Options {
  timeZone?: string;
  hour12?: boolean;
  hourCycle?: string;
  dateStyle?: 'full' | 'long' | 'medium' | 'short';
  timeStyle?: 'full' | 'long' | 'medium' | 'short';
  weekday?: Width;
  era?: Width;
  year?: Width;
  month?: Width;
  day?: Width;
  hour?: Width;
  minute?: Width;
  second?: Width;
  fractionalSecondDigits?: number;
  timeZoneName?: string;
  dayPeriod?: string;
  [other: string]: unknown;
}

/** Which parts are shown unless the options name some. */
type Needed = 'date' | 'time' | 'any';

interface Part {
  type: string;
  value: string;
}

const MONTHS = 'January February March April May June July August September October November December'.split(' ');
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

const DATE = ['weekday', 'year', 'month', 'day'];
const TIME = ['dayPeriod', 'hour', 'minute', 'second', 'fractionalSecondDigits'];

const DATE_STYLES: Record<string, Options> = {
  full: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' },
  long: { year: 'numeric', month: 'long', day: 'numeric' },
  medium: { year: 'numeric', month: 'short', day: 'numeric' },
  short: { year: '2-digit', month: 'numeric', day: 'numeric' },
};

const TIME_STYLES: Record<string, Options> = {
  full: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'long' },
  long: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'short' },
  medium: { hour: 'numeric', minute: '2-digit', second: '2-digit' },
  short: { hour: 'numeric', minute: '2-digit' },
};

const UTC = /^(utc|gmt|etc\/(utc|gmt|uct|zulu|universal)|[+-]00:?00)$/i;

const literal = (value: string): Part => ({ type: 'literal', value });

/** Puts literals between parts. */
function joined(parts: Part[], between: string): Part[] {
  return parts.flatMap((part, index) => (index > 0 ? [literal(between), part] : [part]));
}

function text(value: string, width: Width | undefined): string {
  return width === 'narrow' ? value.slice(0, 1) : width === 'short' ? value.slice(0, 3) : value;
}

function digits(value: number, width: Width | undefined): string {
  return width === '2-digit' ? String(value % 100).padStart(2, '0') : String(value);
}

export class DateTimeFormat {
  readonly #options: Options;
  readonly #hour12: boolean;

  constructor(_?: unknown, options: Options = {}, needed: Needed = 'any', defaults: Needed = 'date') {
    const { timeZone, dateStyle, timeStyle } = options ?? {};
    if (timeZone !== undefined && !UTC.test(String(timeZone))) {
      throw Object.assign(new RangeError(`Invalid time zone specified: ${timeZone}`), {
        suggestion: 'the author must correct the tool: there is only UTC; a package with the data of time zones, such as @vvo/tzdb or timezone-support, does the rest',
      });
    }
    const styles = { ...(dateStyle && DATE_STYLES[dateStyle]), ...(timeStyle && TIME_STYLES[timeStyle]) };
    const isEmpty = !dateStyle && !timeStyle && !(needed === 'date' ? DATE : needed === 'time' ? TIME : [...DATE, ...TIME]).some((name) => options?.[name] !== undefined);
    const filled: Options = {
      ...(isEmpty && defaults !== 'time' && { year: 'numeric', month: 'numeric', day: 'numeric' }),
      ...(isEmpty && defaults !== 'date' && { hour: 'numeric', minute: '2-digit', second: '2-digit' }),
    };
    this.#options = { ...filled, ...styles, ...options };
    this.#hour12 = options?.hour12 ?? (options?.hourCycle ? /^h1/.test(options.hourCycle) : true);
  }

  get format(): (date?: Date | number) => string {
    return (date) => this.formatToParts(date).map(({ value }) => value).join('');
  }

  formatToParts(value: Date | number = Date.now()): Part[] {
    const date = new Date(value);
    if (Number.isNaN(date.getTime())) throw new RangeError('Invalid time value');
    const [day, time] = [this.#date(date), this.#time(date)];
    const isLong = ['full', 'long'].includes(String(this.#options.dateStyle));
    return [...day, ...(day.length > 0 && time.length > 0 ? [literal(isLong ? ' at ' : ', ')] : []), ...time];
  }

  #date(date: Date): Part[] {
    const { weekday, year, month, day, era } = this.#options;
    const parts: Record<string, Part> = {};
    const put = (type: string, value: string) => (parts[type] = { type, value });
    if (weekday) put('weekday', text(DAYS[date.getUTCDay()]!, weekday));
    if (day) put('day', digits(date.getUTCDate(), day));
    if (year) put('year', digits(date.getUTCFullYear(), year));
    const isNumeric = month === undefined || month === 'numeric' || month === '2-digit';
    if (month) put('month', isNumeric ? digits(date.getUTCMonth() + 1, month) : text(MONTHS[date.getUTCMonth()]!, month));
    const of = (...names: string[]) => names.flatMap((name) => parts[name] ?? []);
    let all = isNumeric ? joined(of('month', 'day', 'year'), '/') : joinedDate(of('month', 'day'), of('year'));
    if (parts['weekday']) all = all.length > 0 ? [parts['weekday'], literal(', '), ...all] : [parts['weekday']];
    return era && all.length > 0 ? [...all, literal(' '), { type: 'era', value: date.getUTCFullYear() > 0 ? 'AD' : 'BC' }] : all;
  }

  #time(date: Date): Part[] {
    const { hour, minute, second, fractionalSecondDigits, timeZoneName } = this.#options;
    const parts: Part[] = [];
    const hours = date.getUTCHours();
    if (hour) {
      const shown = this.#hour12 ? hours % 12 || 12 : hours;
      const width = hour === '2-digit' || !this.#hour12 ? '2-digit' : 'numeric';
      parts.push({ type: 'hour', value: digits(shown, width) });
    }
    if (minute) parts.push({ type: 'minute', value: digits(date.getUTCMinutes(), hour || second ? '2-digit' : minute) });
    if (second) parts.push({ type: 'second', value: digits(date.getUTCSeconds(), minute ? '2-digit' : second) });
    let all = joined(parts, ':');
    if (fractionalSecondDigits) {
      const value = String(date.getUTCMilliseconds()).padStart(3, '0').slice(0, fractionalSecondDigits);
      all = [...all, ...(all.length > 0 ? [literal('.')] : []), { type: 'fractionalSecond', value }];
    }
    if (hour && this.#hour12) all = [...all, literal(' '), { type: 'dayPeriod', value: hours < 12 ? 'AM' : 'PM' }];
    if (!timeZoneName) return all;
    const name = timeZoneName === 'long' ? 'Coordinated Universal Time' : /offset/i.test(timeZoneName) ? 'GMT' : 'UTC';
    return [...all, ...(all.length > 0 ? [literal(' ')] : []), { type: 'timeZoneName', value: name }];
  }

  formatRange(from: Date | number, to: Date | number): string {
    return `${this.format(from)} – ${this.format(to)}`;
  }

  resolvedOptions(): object {
    const { dateStyle, timeStyle, hour12: _, ...options } = this.#options;
    return { locale: LOCALE, calendar: 'gregory', numberingSystem: 'latn', ...options, ...(dateStyle && { dateStyle }), ...(timeStyle && { timeStyle }), timeZone: 'UTC', ...(options.hour && { hour12: this.#hour12, hourCycle: this.#hour12 ? 'h12' : 'h23' }) };
  }
}

/** `January 5, 2024`, and less where parts are missing. */
function joinedDate(first: Part[], year: Part[]): Part[] {
  const start = joined(first, ' ');
  if (year.length === 0) return start;
  return start.length === 0 ? year : [...start, literal(first.length > 1 ? ', ' : ' '), ...year];
}

/** Returns what `toLocaleString`, `toLocaleDateString` and `toLocaleTimeString` of a date return. */
export function dateText(date: Date, needed: Needed, options?: Options): string {
  if (Number.isNaN(date.getTime())) return 'Invalid Date';
  return new DateTimeFormat(LOCALE, options, needed, needed).format(date);
}

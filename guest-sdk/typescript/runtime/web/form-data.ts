/** `FormData`, and its form on the wire. */
import './blob';
import { define } from './define';
import { decodeUtf8 } from 'toolhost:engine';

type Value = string | File;

class OwnFormData {
  #entries: [string, Value][] = [];

  append(name: string, value: unknown, filename?: string): void {
    this.#entries.push([String(name), valueOf(value, filename)]);
  }

  set(name: string, value: unknown, filename?: string): void {
    const at = this.#entries.findIndex(([each]) => each === name);
    const rest = this.#entries.filter(([each]) => each !== name);
    rest.splice(at < 0 ? rest.length : at, 0, [String(name), valueOf(value, filename)]);
    this.#entries = rest;
  }

  delete(name: string): void {
    this.#entries = this.#entries.filter(([each]) => each !== name);
  }

  get(name: string): Value | null {
    return this.#entries.find(([each]) => each === name)?.[1] ?? null;
  }

  getAll(name: string): Value[] {
    return this.#entries.filter(([each]) => each === name).map(([, value]) => value);
  }

  has(name: string): boolean {
    return this.#entries.some(([each]) => each === name);
  }

  forEach(act: (value: Value, name: string, form: this) => void, self?: unknown): void {
    for (const [name, value] of this.#entries) act.call(self, value, name, this);
  }

  entries(): IterableIterator<[string, Value]> {
    return this.#entries[Symbol.iterator]();
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.#entries) yield name;
  }

  *values(): IterableIterator<Value> {
    for (const [, value] of this.#entries) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, Value]> {
    return this.entries();
  }

  get [Symbol.toStringTag](): string {
    return 'FormData';
  }
}

function valueOf(value: unknown, filename?: string): Value {
  if (!(value instanceof Blob)) return String(value);
  if (value instanceof File && filename === undefined) return value;
  return new File([value], filename ?? (value instanceof File ? value.name : 'blob'), { type: value.type });
}

Object.defineProperty(OwnFormData, 'name', { value: 'FormData' });
define({ FormData: OwnFormData });

/** Returns a form as `multipart/form-data`. */
export function toMultipart(form: FormData): Blob {
  const boundary = `----formdata-toolhost-${crypto.randomUUID().replaceAll('-', '')}`;
  const escape = (text: string) => text.replace(/\n/g, '%0A').replace(/\r/g, '%0D').replace(/"/g, '%22');
  const parts: BlobPart[] = [];
  form.forEach((value, name) => {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escape(name)}"`;
    if (typeof value === 'string') parts.push(`${head}\r\n\r\n${value.replace(/\r?\n|\r/g, '\r\n')}\r\n`);
    else parts.push(`${head}; filename="${escape(value.name)}"\r\nContent-Type: ${value.type || 'application/octet-stream'}\r\n\r\n`, value, '\r\n');
  });
  return new Blob([...parts, `--${boundary}--\r\n`], { type: `multipart/form-data; boundary=${boundary}` });
}

/** Reads a form from bytes of this Content-Type. */
export function parseForm(bytes: Uint8Array, type: string): FormData {
  const form = new FormData();
  if (/^application\/x-www-form-urlencoded\b/i.test(type)) {
    new URLSearchParams(decodeUtf8(bytes)).forEach((value, name) => form.append(name, value));
    return form;
  }
  const [, quoted, plain] = /^multipart\/form-data\b.*;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(type) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw new TypeError(`the Content-Type "${type}" is none of a form`);
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  const utf8 = (latin1: string) => decodeUtf8(Uint8Array.from(latin1, (unit) => unit.charCodeAt(0)));
  for (const part of `\r\n${text}`.split(`\r\n--${boundary}`).slice(1)) {
    const [, head, body] = /^\r\n(.*?)\r\n\r\n(.*)$/s.exec(part) ?? [];
    if (head === undefined || body === undefined) continue;
    const field = (name: string) => new RegExp(`^content-disposition:.*[;\\s]${name}="([^"]*)"`, 'im').exec(head)?.[1]?.replace(/%22/g, '"');
    const [name, filename] = [field('name'), field('filename')];
    if (name === undefined) continue;
    if (filename === undefined) {
      form.append(utf8(name), utf8(body));
      continue;
    }
    const type = /^content-type:\s*(.*?)\s*$/im.exec(head)?.[1] ?? 'text/plain';
    form.append(utf8(name), new File([Uint8Array.from(body, (unit) => unit.charCodeAt(0))], utf8(filename), { type }));
  }
  return form;
}

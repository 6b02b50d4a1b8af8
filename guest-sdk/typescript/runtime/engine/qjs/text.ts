/**
 * UTF-8, with the engine's own functions where they exist: a loop over bytes in QuickJS costs some
 * fifty times more.
 */

/** How many bytes go to one call of `String.fromCharCode`. */
const CHUNK_BYTES = 16_384;

export function encodeUtf8(text: string): Uint8Array {
  const wellFormed = text.toWellFormed();
  return (Uint8Array as any).fromBase64(btoa(unescape(encodeURIComponent(wellFormed))));
}

/** Decodes UTF-8; what is not becomes U+FFFD, or with `fatal` a TypeError. */
export function decodeUtf8(bytes: Uint8Array, fatal = false): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    parts.push(String.fromCharCode.apply(null, bytes.subarray(at, at + CHUNK_BYTES) as any));
  }
  const latin1 = parts.join('');
  if (/^[\x00-\x7f]*$/.test(latin1)) return latin1;
  try {
    return decodeURIComponent(escape(latin1));
  } catch {
    if (fatal) throw new TypeError('The encoded data was not valid for encoding utf-8');
    return decodeLossy(bytes);
  }
}

/** Replaces each longest beginning of a character by one U+FFFD, as the Encoding Standard does. */
function decodeLossy(bytes: Uint8Array): string {
  let out = '';
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length > 0) {
      out += decodeURIComponent(escape(String.fromCharCode(...bytes.subarray(at, at + length))));
      at += length;
    } else {
      out += '\ufffd';
      at += Math.max(1, -length);
    }
  }
  return out;
}

/** Returns the bytes of the character at `at`; where it is cut or wrong, minus how many fit. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!;
  if (lead < 0x80) return 1;
  const length = lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
  if (length === 0) return -1;
  for (let offset = 1; offset < length; offset += 1) {
    const byte = bytes[at + offset];
    const low = offset > 1 ? 0x80 : lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    const high = offset > 1 ? 0xbf : lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    if (byte === undefined || byte < low || byte > high) return -offset;
  }
  return length;
}

/** Returns how many bytes at the end begin a character that is not complete. */
function incompleteTail(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const at = bytes.length - back;
    if (bytes[at]! >= 0xc0) return sequenceLength(bytes, at) === -back ? back : 0;
  }
  return 0;
}

export class TextEncoder {
  readonly encoding = 'utf-8';

  encode(text = ''): Uint8Array {
    return encodeUtf8(String(text));
  }

  encodeInto(text: string, target: Uint8Array): { read: number; written: number } {
    let read = 0;
    let written = 0;
    for (const character of text) {
      const bytes = encodeUtf8(character);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      written += bytes.length;
      read += character.length;
    }
    return { read, written };
  }
}

/** `utf-8`, `utf-16le` and `latin1`. */
export class TextDecoder {
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  #rest = new Uint8Array(0);
  #atStart = true;

  constructor(label = 'utf-8', options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    const encoding = ENCODINGS[String(label).trim().toLowerCase()];
    if (!encoding) throw new RangeError(`The "${label}" encoding is not supported`);
    this.encoding = encoding;
    this.fatal = options.fatal ?? false;
    this.ignoreBOM = options.ignoreBOM ?? false;
  }

  decode(input?: ArrayBuffer | ArrayBufferView, options: { stream?: boolean } = {}): string {
    const bytes = joined(this.#rest, bytesOf(input));
    let tail = 0;
    if (options.stream) tail = this.encoding === 'utf-8' ? incompleteTail(bytes) : this.encoding === 'utf-16le' ? bytes.length % 2 : 0;
    this.#rest = bytes.slice(bytes.length - tail);
    let text = this.#text(bytes.subarray(0, bytes.length - tail));
    if (this.#atStart && !this.ignoreBOM && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    this.#atStart = options.stream ? this.#atStart && text === '' : true;
    return text;
  }

  #text(bytes: Uint8Array): string {
    if (this.encoding === 'utf-8') return decodeUtf8(bytes, this.fatal);
    const step = this.encoding === 'utf-16le' ? 2 : 1;
    let out = '';
    for (let at = 0; at + step <= bytes.length; at += step) {
      out += String.fromCharCode(step === 2 ? bytes[at]! | (bytes[at + 1]! << 8) : bytes[at]!);
    }
    return out;
  }
}

const ENCODINGS: Record<string, string> = {
  'utf-8': 'utf-8',
  utf8: 'utf-8',
  'utf-16le': 'utf-16le',
  'utf-16': 'utf-16le',
  latin1: 'windows-1252',
  ascii: 'windows-1252',
  'iso-8859-1': 'windows-1252',
  'windows-1252': 'windows-1252',
};

function bytesOf(input?: ArrayBuffer | ArrayBufferView): Uint8Array {
  if (input === undefined) return new Uint8Array(0);
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  return new Uint8Array(input);
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  const out = new Uint8Array(first.length + second.length);
  out.set(first);
  out.set(second, first.length);
  return out;
}

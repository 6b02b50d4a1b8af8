/** `crypto.getRandomValues` and `crypto.randomUUID`. */
import { fillRandom } from './random';

/** The Web Crypto API's own limit. */
const QUOTA_BYTES = 65_536;

export function getRandomValues<T extends ArrayBufferView>(view: T): T {
  if (!ArrayBuffer.isView(view)) throw new TypeError('crypto.getRandomValues takes a typed array');
  if (view.byteLength > QUOTA_BYTES) {
    throw new DOMException(`${view.byteLength} bytes exceed the quota of ${QUOTA_BYTES}`, 'QuotaExceededError');
  }
  fillRandom(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return view;
}

export function randomUUID(): string {
  const bytes = getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

export const crypto = { getRandomValues, randomUUID };

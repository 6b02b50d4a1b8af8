/** `DOMException`. */
import { define } from './define';

/** The names that have a code, by the code. */
const NAMES =
  ' IndexSizeError  HierarchyRequestError WrongDocumentError InvalidCharacterError  NoModificationAllowedError NotFoundError NotSupportedError InUseAttributeError InvalidStateError SyntaxError InvalidModificationError NamespaceError InvalidAccessError  TypeMismatchError SecurityError NetworkError AbortError URLMismatchError QuotaExceededError TimeoutError InvalidNodeTypeError DataCloneError'.split(
    ' ',
  );

class DOMException extends Error {
  override readonly name: string;
  readonly code: number;

  constructor(message = '', options: string | { name?: string; cause?: unknown } = 'Error') {
    super(String(message), typeof options === 'object' && 'cause' in options ? { cause: options.cause } : undefined);
    this.name = String((typeof options === 'object' ? options.name : options) ?? 'Error');
    this.code = Math.max(0, NAMES.indexOf(this.name));
    for (const field of ['name', 'code']) Object.defineProperty(this, field, { enumerable: false });
  }

  get [Symbol.toStringTag](): string {
    return 'DOMException';
  }
}

NAMES.forEach((name, code) => {
  if (name === '') return;
  const constant = `${name.replace(/Error$/, '').replace(/([a-z])(?=[A-Z])/g, '$1_').toUpperCase()}_ERR`;
  for (const target of [DOMException, DOMException.prototype]) Object.defineProperty(target, constant, { value: code, enumerable: true });
});

define({ DOMException });

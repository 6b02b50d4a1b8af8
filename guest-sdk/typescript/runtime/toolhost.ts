/** The module `toolhost`. */

export class Pending {
  constructor(readonly handle: string) {}
}

/**
 * Makes the value that a handler returns when its work is accepted but not finished. The host asks again
 * through the module's `polling`, in a fresh instance: the tool must keep its state in the handle
 * (at most 1 KiB) or in files.
 */
export function pending(handle: string): Pending {
  if (typeof handle !== 'string' || handle === '') throw new TypeError('pending() takes a handle: a text that is not empty');
  return new Pending(handle);
}

export default { pending };

/** What a tool may import from `toolhost`. */

export class Pending {
  constructor(readonly handle: string) {}
}

/**
 * Makes the value a handler returns when its work is accepted but not done. The host asks again
 * through the module's `polling`, in a fresh instance: all that is known must be in the handle
 * (at most 1 KiB) or in files.
 */
export function pending(handle: string): Pending {
  if (typeof handle !== 'string' || handle === '') throw new TypeError('pending() takes a handle: a text that is not empty');
  return new Pending(handle);
}

export default { pending };

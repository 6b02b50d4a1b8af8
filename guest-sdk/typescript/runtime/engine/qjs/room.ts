/** Memory for calls. */

/** What a short call allocates, and some more. */
const ROOM_BYTES = 512 << 10;

/**
 * Makes the memory larger while the tool is built: what is freed stays with the allocator, so that a short call
 * need not ask the host for more. It is zero, and takes no room in the component.
 */
export function leaveRoom(): void {
  new ArrayBuffer(ROOM_BYTES);
}

/** The queue: microtasks, and rejected promises without a handler. */

let tasks: (() => void)[] = [];
const rejections = new Map<object, unknown>();

export function enqueue(task: () => void): void {
  tasks.push(task);
}

/** Runs microtasks, and those they add, until there are none. Throws what one of them throws. */
export function drain(): void {
  while (tasks.length > 0) {
    const batch = tasks;
    tasks = [];
    for (let next = 0; next < batch.length; next += 1) {
      try {
        batch[next]!();
      } catch (error) {
        tasks = batch.slice(next + 1).concat(tasks);
        throw error;
      }
    }
  }
}

export function noteRejection(promise: object, reason: unknown): void {
  rejections.set(promise, reason);
}

export function forgetRejection(promise: object): void {
  rejections.delete(promise);
}

/** Returns the reasons of rejected promises without a handler, the oldest first. */
export function unhandledRejection(): { reason: unknown } | undefined {
  for (const reason of rejections.values()) return { reason };
  return undefined;
}

export function clearQueue(): void {
  tasks = [];
  rejections.clear();
}

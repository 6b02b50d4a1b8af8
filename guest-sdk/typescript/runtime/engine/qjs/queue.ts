/** What waits to run: microtasks, and promises that were rejected while nobody listened. */

let tasks: (() => void)[] = [];
const rejections = new Map<object, unknown>();

export function enqueue(task: () => void): void {
  tasks.push(task);
}

/** Runs microtasks, and those they add, until there are none. What one throws comes out here. */
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

/** Returns why a promise that nobody listens to was rejected, the oldest first. */
export function unhandledRejection(): { reason: unknown } | undefined {
  for (const reason of rejections.values()) return { reason };
  return undefined;
}

export function clearQueue(): void {
  tasks = [];
  rejections.clear();
}

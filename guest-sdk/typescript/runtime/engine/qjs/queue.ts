/** The queue: microtasks, and rejected promises without a handler. */

/** A microtask: a function, or a reaction of a promise, which needs no closure. */
export type Task = (() => void) | { run(): void };

let tasks: Task[] = [];
const rejections = new Map<object, unknown>();

export function enqueue(task: Task): void {
  tasks.push(task);
}

/** Runs microtasks, and those they add, until there are none. Throws what one of them throws. */
export function drain(): void {
  while (tasks.length > 0) {
    const batch = tasks;
    tasks = [];
    for (let next = 0; next < batch.length; next += 1) {
      const task = batch[next]!;
      try {
        if (typeof task === 'function') task();
        else task.run();
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

/** Takes out the oldest rejected promise without a handler. */
export function takeRejection(): { promise: object; reason: unknown } | undefined {
  if (rejections.size === 0) return undefined;
  for (const [promise, reason] of rejections) {
    rejections.delete(promise);
    return { promise, reason };
  }
  return undefined;
}

export function clearQueue(): void {
  if (tasks.length > 0) tasks = [];
  if (rejections.size > 0) rejections.clear();
}

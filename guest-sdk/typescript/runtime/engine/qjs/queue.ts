/** The queue: microtasks, and rejected promises without a handler. */

/** A microtask: a function, or a reaction of a promise, which needs no closure. */
export type Task = (() => void) | { run(): void };

let tasks: Task[] = [];

/** Tasks that are done before their room is used again. */
const MAX_DONE = 1_000;

const rejections = new Map<object, unknown>();

export function enqueue(task: Task): void {
  tasks.push(task);
}

/** Runs microtasks, and those they add, until there are none. Throws what one of them throws. */
export function drain(): void {
  if (tasks.length === 0) return;
  let done = 0;
  try {
    while (done < tasks.length) {
      if (done === MAX_DONE) {
        tasks = tasks.slice(done);
        done = 0;
      }
      const task = tasks[done]!;
      done += 1;
      if (typeof task === 'function') task();
      else task.run();
    }
  } finally {
    if (done === tasks.length) tasks.length = 0;
    else tasks = tasks.slice(done);
  }
}

/** Whether no microtask waits. */
export function isIdle(): boolean {
  return tasks.length === 0;
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

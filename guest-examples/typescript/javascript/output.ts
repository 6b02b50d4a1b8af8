/** What a program prints, with a bound. */

/** UTF-16 units that are kept of a text: at its beginning, and at its end. */
export interface Kept {
  head: number;
  tail: number;
}

/** Even if each unit becomes `\u0001` in JSON, two of them are below the 1 MiB that the host lets a result have. */
const OF_STREAM: Kept = { head: 48 << 10, tail: 16 << 10 };

/** A text of which the beginning and the end are kept. */
export class Output {
  #head = '';
  #tail = '';
  #leftOut = 0;

  constructor(
    readonly kept: Kept = OF_STREAM,
    /** What the mark advises. */
    readonly advice = 'write to a file, then read parts of it',
  ) {}

  write(text: string): void {
    const room = this.kept.head - this.#head.length;
    this.#head += text.slice(0, room);
    this.#tail += text.slice(room);
    // Twice as much before it is cut, so that many short pieces are not moved each time.
    if (this.#tail.length > 2 * this.kept.tail) this.#cut();
  }

  #cut(): void {
    const surplus = Math.max(0, this.#tail.length - this.kept.tail);
    this.#tail = this.#tail.slice(surplus);
    this.#leftOut += surplus;
  }

  get isCut(): boolean {
    return this.#head.length + this.#tail.length + this.#leftOut > this.kept.head + this.kept.tail;
  }

  text(): string {
    this.#cut();
    if (this.#leftOut === 0) return (this.#head + this.#tail).toWellFormed();
    return `${this.#head}\n[… ${this.#leftOut} characters left out: ${this.advice} …]\n${this.#tail}`.toWellFormed();
  }
}

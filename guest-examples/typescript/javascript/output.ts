/** What a program prints, with a bound. */

/**
 * UTF-16 units that are kept of a stream: even if each becomes `\u0001` in JSON, two of them are below the 1 MiB that
 * the host lets a result have.
 */
const KEPT = 64 << 10;
const HEAD = 48 << 10;
const TAIL = KEPT - HEAD;

/** A text of which the beginning and the end are kept. */
export class Output {
  #head = '';
  #tail = '';
  #leftOut = 0;

  write(text: string): void {
    const room = HEAD - this.#head.length;
    this.#head += text.slice(0, room);
    this.#tail += text.slice(room);
    // Twice as much before it is cut, so that many short pieces are not moved each time.
    if (this.#tail.length > 2 * TAIL) this.#cut();
  }

  #cut(): void {
    const surplus = Math.max(0, this.#tail.length - TAIL);
    this.#tail = this.#tail.slice(surplus);
    this.#leftOut += surplus;
  }

  get isCut(): boolean {
    return this.#head.length + this.#tail.length + this.#leftOut > KEPT;
  }

  text(): string {
    this.#cut();
    if (this.#leftOut === 0) return (this.#head + this.#tail).toWellFormed();
    const note = `[… ${this.#leftOut} characters left out: write to a file, then read parts of it …]`;
    return `${this.#head}\n${note}\n${this.#tail}`.toWellFormed();
  }
}

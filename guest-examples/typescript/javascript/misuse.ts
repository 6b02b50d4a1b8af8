/** A mistake that throws no exception. */
export class Misuse extends Error {
  /** `stack`: one that `Sources` reads, or nothing. */
  constructor(
    message: string,
    readonly suggestion: string,
    stack = '',
  ) {
    super(message);
    this.stack = stack;
  }
}

/** An error that a model can act on: `code` to branch on, `suggestion` for the next move. */
export class TextError extends Error {
  override readonly name = 'TextError';

  constructor(
    readonly code: string,
    message: string,
    readonly suggestion: string,
  ) {
    super(message);
  }
}

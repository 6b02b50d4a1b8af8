/** Changes of a source that keep its lines, and the way back from a place in the changed text. */

interface Edit {
  start: number;
  end: number;
  text: string;
  /** At one place: what ends something, the inner first; then what begins something, the outer first. */
  isEnd: boolean;
}

export interface Place {
  line: number;
  column: number;
}

export class Edits {
  readonly #edits: Edit[] = [];

  constructor(readonly source: string) {}

  /** Puts text around a part. What is around a part is put first, then what is within it. */
  around(start: number, end: number, before: string, after: string): void {
    this.#edits.push({ start, end: start, text: before, isEnd: false }, { start: end, end, text: after, isEnd: true });
  }

  insert(at: number, text: string): void {
    this.#edits.push({ start: at, end: at, text, isEnd: false });
  }

  replace(start: number, end: number, text: string): void {
    const lines = this.source.slice(start, end).replace(/[^\n]/g, '');
    this.#edits.push({ start, end, text: text + lines, isEnd: false });
  }

  /** Returns the changed text between two others. */
  changed(head: string, tail: string): Changed {
    const inOrder = this.#edits
      .map((edit, index) => ({ edit, index: edit.isEnd ? -index : index }))
      .sort((a, b) => a.edit.start - b.edit.start || Number(b.edit.isEnd) - Number(a.edit.isEnd) || a.index - b.index);
    const pieces: Piece[] = [];
    let text = head;
    let at = 0;
    for (const { edit } of inOrder) {
      pieces.push({ from: text.length, source: at });
      text += this.source.slice(at, edit.start);
      pieces.push({ from: text.length, made: edit.text });
      text += edit.text;
      at = Math.max(at, edit.end);
    }
    pieces.push({ from: text.length, source: at });
    return new Changed(this.source, text + this.source.slice(at) + tail, pieces);
  }
}

/** A piece of the changed text: from the source, or made. */
type Piece = { from: number; source?: number; made?: string };

export class Changed {
  constructor(
    readonly source: string,
    readonly text: string,
    readonly pieces: readonly Piece[],
  ) {}

  /** Returns the place in the source; undefined where the text was made and has one of these words. */
  placeOf(line: number, column: number, unless: RegExp): Place | undefined {
    let lineStart = 0;
    for (let current = 1; current < line; current += 1) {
      lineStart = this.text.indexOf('\n', lineStart) + 1;
      if (lineStart === 0) return undefined;
    }
    const offset = lineStart + column - 1;
    const piece = this.pieces.findLast(({ from }) => from <= offset);
    if (!piece) return { line, column: 1 };
    if (piece.source === undefined && unless.test(piece.made ?? '')) return undefined;
    const next = this.pieces[this.pieces.indexOf(piece) + 1];
    const at = piece.source === undefined ? (next?.source ?? this.source.length) : piece.source + offset - piece.from;
    const start = this.source.lastIndexOf('\n', at - 1) + 1;
    return { line, column: at - start + 1 };
  }
}

/** A message as a line of JSON, with the digits of every integer. */
/** Writes a message. Throws a TypeError with the place of a value that JSON cannot hold. */
export declare function toLine(message: object): string;
/** Reads a message. An integer beyond ±(2^53 - 1) becomes the text of its digits. */
export declare function fromLine(line: string): unknown;

/** Where a text comes from, and where the result goes. */
import type { JsonObject } from 'toolhost';
import { TextError } from './failure';

export interface Place {
  text?: string;
  path?: string;
  saveTo?: string;
}

/** Larger files would not fit into a call's memory together with what is made of them. */
const MAX_BYTES = 8 << 20;

/** What a model can be given; the host's own limit is 1 MiB of JSON. */
const MAX_RETURNED_UNITS = 250_000;

export async function textOf({ text, path }: Place): Promise<string> {
  if ((text === undefined) === (path === undefined)) {
    throw new TextError('ONE_SOURCE', text === undefined ? 'there is no text' : 'there are two texts', 'pass one of `text` and `path`');
  }
  if (path === undefined) return text!;
  const file = Bun.file(path);
  if (!(await file.exists())) {
    throw new TextError('NOT_FOUND', `no such file: ${path}`, 'pass the path of a text file, relative to the working directory');
  }
  if (file.size > MAX_BYTES) {
    throw new TextError('TOO_LARGE', `${path} has ${file.size} bytes; at most ${MAX_BYTES} are read`, 'split the file first');
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.bytes());
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new TextError('NOT_TEXT', `${path} is not UTF-8 text`, 'pass the path of a text file');
  }
}

/** Returns the text, or writes it and says so. */
export async function deliver({ saveTo }: Place, text: string): Promise<JsonObject> {
  if (saveTo !== undefined) return { savedTo: saveTo, bytes: await Bun.write(saveTo, text) };
  if (text.length > MAX_RETURNED_UNITS) {
    throw new TextError('TOO_LONG', `the result has ${text.length} characters; at most ${MAX_RETURNED_UNITS} are returned`, 'pass `saveTo`, the path of a file to write it to');
  }
  return { text };
}

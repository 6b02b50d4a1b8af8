// Writes files.
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Writes a file. A program that reads it meanwhile gets the old content or the new one. */
export async function replaceFile(file, content) {
  await mkdir(path.dirname(file), { recursive: true });
  const partial = `${file}.${process.pid}.partial`;
  await writeFile(partial, content);
  await rename(partial, file);
}

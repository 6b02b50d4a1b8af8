// Writes files.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Writes a file. A program that reads it meanwhile gets the old content or the new one. */
export async function replaceFile(file, content) {
  await mkdir(path.dirname(file), { recursive: true });
  const partial = `${file}.${process.pid}.partial`;
  await writeFile(partial, content);
  await rename(partial, file);
}

/** The same at once. A folder that cannot be written is no failure: what is kept can be made again. */
export function replaceFileSync(file, content) {
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    const partial = `${file}.${process.pid}.partial`;
    writeFileSync(partial, content);
    renameSync(partial, file);
  } catch {
    // Made again next time.
  }
}

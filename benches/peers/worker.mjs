// Does the works of the benchmark in Node and Bun. Each line of standard input is a request, each line of
// standard output its answer. With `once` it answers one request and exits.
import { readFileSync, writeFileSync } from 'node:fs';

// The code of the tool `text-transform`, in one file.
const changes = process.env.TEXT_TRANSFORM && (await import(process.env.TEXT_TRANSFORM));

const works = {
  echo: (input) => input,
  read: ({ path }) => ({ content: readFileSync(path, 'utf8') }),
  write: ({ path, content }) => {
    writeFileSync(path, content);
    return { bytes: content.length };
  },
  replace: ({ text, ...input }) => changes.replaceAll(text, input),
};

function answer(line) {
  const { id, work, input } = JSON.parse(line);
  return `${JSON.stringify({ id, output: works[work](input) })}\n`;
}

if (process.argv[2] === 'once') {
  process.stdout.write(answer(readFileSync(0, 'utf8')));
} else {
  let parts = [];
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk) => {
    const lines = chunk.split('\n');
    const rest = lines.pop();
    if (lines.length > 0) {
      lines[0] = parts.join('') + lines[0];
      parts = [];
      process.stdout.write(lines.map(answer).join(''));
    }
    if (rest) parts.push(rest);
  });
}

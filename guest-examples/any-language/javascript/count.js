// A tool in JavaScript: counts the lines, words and characters of a text file.
import { getDirectories } from 'wasi:filesystem/preopens@0.2.12';
import { log } from 'wasi:logging/logging@0.1.0-draft';

function count({ path }) {
  const text = readText(path);
  log('info', 'count', `read ${path}`);
  return {
    lines: text.split('\n').length - (text === '' || text.endsWith('\n') ? 1 : 0),
    words: text.split(/\s+/).filter((word) => word !== '').length,
    chars: [...text].length,
  };
}

/** Reads a text file of the workdir, which is the only directory that a tool has. */
function readText(path) {
  const [[workdir]] = getDirectories();
  try {
    const file = workdir.openAt({ symlinkFollow: true }, path, {}, { read: true });
    const [bytes] = file.read(file.stat().size, 0n);
    return new TextDecoder().decode(bytes);
  } catch (error) {
    // A call of the host that fails throws an error whose `payload` is the error code.
    if (error.payload === undefined) throw error;
    if (error.payload !== 'no-entry') throw new ToolError(`${path} cannot be read: ${error.payload}`);
    throw new ToolError(`no such file: ${path}`, {
      code: 'NOT_FOUND',
      suggestion: 'pass the path of a text file, relative to the working directory',
    });
  }
}

/** An error that a model reads. */
class ToolError extends Error {
  constructor(message, { code, suggestion } = {}) {
    super(message);
    Object.assign(this, { code, suggestion });
  }
}

const tools = { count };

export const handlers = {
  describe() {
    return Object.keys(tools).map((name) => ({ name }));
  },
  call(name, context, input) {
    try {
      const output = tools[name](JSON.parse(input));
      return { tag: 'output', val: JSON.stringify(output) };
    } catch (error) {
      // The error of the result is the `payload` of what is thrown. Anything else that is thrown is a crash.
      throw { payload: { message: error.message, name: error.name, code: error.code, suggestion: error.suggestion } };
    }
  },
};

/** `node:stream/web`. */
import '../web/streams';

const names = [
  'ReadableStream',
  'ReadableStreamDefaultReader',
  'ReadableStreamBYOBReader',
  'WritableStream',
  'WritableStreamDefaultWriter',
  'TransformStream',
  'ByteLengthQueuingStrategy',
  'CountQueuingStrategy',
  'TextEncoderStream',
  'TextDecoderStream',
];

export default Object.fromEntries(names.map((name) => [name, (globalThis as Record<string, unknown>)[name]]));

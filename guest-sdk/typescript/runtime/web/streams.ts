/** `ReadableStream` and the other classes of the Streams Standard. */
import * as streams from 'web-streams-polyfill';
import './abort';
import { define } from './define';

define({ ...streams });

class TextDecoderStream {
  readonly #transform: TransformStream<BufferSource, string>;
  readonly encoding: string;

  constructor(label?: string, options?: TextDecoderOptions) {
    const decoder = new TextDecoder(label, options);
    this.encoding = decoder.encoding;
    this.#transform = new TransformStream({
      transform(chunk, controller) {
        const text = decoder.decode(chunk, { stream: true });
        if (text !== '') controller.enqueue(text);
      },
      flush(controller) {
        const text = decoder.decode();
        if (text !== '') controller.enqueue(text);
      },
    });
  }

  get readable(): ReadableStream<string> {
    return this.#transform.readable;
  }

  get writable(): WritableStream<BufferSource> {
    return this.#transform.writable;
  }
}

class TextEncoderStream {
  readonly encoding = 'utf-8';
  readonly #transform = new TransformStream<string, Uint8Array>({
    transform: (chunk, controller) => controller.enqueue(new TextEncoder().encode(String(chunk))),
  });

  get readable(): ReadableStream<Uint8Array> {
    return this.#transform.readable;
  }

  get writable(): WritableStream<string> {
    return this.#transform.writable;
  }
}

define({ TextDecoderStream, TextEncoderStream });

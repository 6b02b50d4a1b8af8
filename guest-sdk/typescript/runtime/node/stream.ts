/** `node:stream`: the package `readable-stream`. */
import '../web/abort';
import '../web/streams';
import stream from 'readable-stream';

const Stream = stream as any;

Object.assign(Stream.Readable, {
  fromWeb(readable: ReadableStream, options?: object) {
    return Stream.Readable.from(readable, options);
  },
  toWeb(readable: any) {
    const iterator = readable[Symbol.asyncIterator]();
    return new ReadableStream({
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => readable.destroy(reason),
    });
  },
});

Object.assign(Stream.Writable, {
  toWeb(writable: any) {
    return new WritableStream({
      write: (chunk) => new Promise((resolve, reject) => writable.write(chunk, (error: unknown) => (error ? reject(error) : resolve()))),
      close: () => new Promise((resolve) => writable.end(() => resolve())),
      abort: (reason) => writable.destroy(reason),
    });
  },
});

export default Stream;

/** `node:stream/promises`. */
import stream from './stream';

export default stream.promises;

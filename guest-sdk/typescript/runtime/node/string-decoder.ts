/** `node:string_decoder`: the package of this name. */
import decoder from 'string_decoder';

export default decoder;

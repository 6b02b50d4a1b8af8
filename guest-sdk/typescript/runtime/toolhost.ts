/** The module `toolhost`. */
import toolhost from '../package/index.js';
import type { Schema } from './schema';

export { DEFINITION, Pending, ToolError } from '../package/index.js';

export interface Definition {
  description?: string;
  input?: Schema;
  output?: Schema;
  run(context: unknown, input: unknown): unknown;
}

export default toolhost;

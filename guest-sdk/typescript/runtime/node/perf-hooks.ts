/** `node:perf_hooks`. */
import { performance } from '../web/clock';

export default { performance };

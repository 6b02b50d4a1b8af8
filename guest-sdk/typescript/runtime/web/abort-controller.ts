/** The package `abort-controller`, which packages use where they do not expect the globals. */
import './abort';

const { AbortController, AbortSignal } = globalThis;

export default { AbortController, AbortSignal };

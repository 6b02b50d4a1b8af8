/** `structuredClone`, where the engine has none. */
import 'core-js/actual/structured-clone';

/** `node:timers/promises`. */
export { promises as default } from './timers';

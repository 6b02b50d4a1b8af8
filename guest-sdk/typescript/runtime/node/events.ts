/** `node:events`. */
import events from 'events';

export default events;

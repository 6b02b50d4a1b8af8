/** Globals of this runtime, for both engines. */
import { Bun } from './bun';
import { console } from './console';
import { Buffer } from './node/buffer';
import process from './node/process';
import { performance } from './web/clock';
import { crypto, getRandomValues, randomUUID } from './web/crypto';
import { randomFraction } from './web/random';

Math.random = randomFraction;

const define = (name: string, value: unknown) =>
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });

define('global', globalThis);
define('self', globalThis);
define('Bun', Bun);
define('Buffer', Buffer);
define('console', console);
define('performance', performance);
define('process', process);
if (globalThis.crypto) Object.assign(globalThis.crypto, { getRandomValues, randomUUID });
else define('crypto', crypto);

// Runs the compiler in a thread of its own.
import { parentPort, workerData } from 'node:worker_threads';
import { compileTypes } from './index.mjs';

const { entry, work, record } = workerData;
const { handlers, finish } = compileTypes(entry, work, record);
parentPort.postMessage(handlers);
finish();

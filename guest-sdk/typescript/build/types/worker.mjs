// Runs the compiler in a thread of its own.
import { parentPort, workerData } from 'node:worker_threads';
import { compileTypes } from './index.mjs';

const { entry, work, record } = workerData;
const { types, finish } = compileTypes(entry, work, record);
parentPort.postMessage(types);
finish();

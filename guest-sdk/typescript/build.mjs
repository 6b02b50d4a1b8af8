// Builds a tool written in TypeScript or JavaScript into a component. BUILD.md says how to call it.
import { main } from './build/main.mjs';

process.exitCode = await main(process.argv.slice(2));

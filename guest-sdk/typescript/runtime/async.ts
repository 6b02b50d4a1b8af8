/** The module `toolhost/async`, for tools that run programs: what an async function is compiled to. */
export { runAsyncFunction } from 'toolhost:engine';

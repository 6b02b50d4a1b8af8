/** The messages of `toolhost rpc`; docs/rpc.md describes them. */
export {};

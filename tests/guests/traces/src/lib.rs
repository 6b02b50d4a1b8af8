//! Effects of a guest before it misbehaves, which a test can find in the reported usage.

use std::hint::black_box;

use serde_json::Value;

/// Size of a page of linear memory's backing on every host we know.
const PAGE_BYTES: usize = 4096;

/// Performs the effects in the input: `touch` (bytes of memory, kept), `write` (`{path, bytes}`),
/// `print` (a line on stderr).
pub fn leave_traces(input: &Value) {
    if let Some(bytes) = input["touch"].as_u64() {
        std::mem::forget(touch(bytes as usize));
    }
    if let Some(path) = input["write"]["path"].as_str() {
        let bytes = input["write"]["bytes"].as_u64().unwrap_or(0) as usize;
        std::fs::write(path, vec![b'w'; bytes]).expect("the trace can be written");
    }
    if let Some(line) = input["print"].as_str() {
        eprintln!("{line}");
    }
}

/// Allocates that many bytes and writes to every page of them.
pub fn touch(bytes: usize) -> Vec<u8> {
    let mut memory = vec![0; bytes];
    for page in memory.chunks_mut(PAGE_BYTES) {
        page[0] = 1;
    }
    black_box(memory)
}

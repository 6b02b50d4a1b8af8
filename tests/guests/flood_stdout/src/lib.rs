//! Writes `bytes` bytes to stdout and as many to stderr, as numbered lines of 16 bytes:
//! `o00000000000000\n`, `o00000000000001\n` … and `e00000000000000\n` …
//!
//! Input `{bytes}`. Output `{stdout, stderr}`: how many bytes were taken.

use std::io::Write;

use guest_glue::{ToolError, Value, json, number};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    let bytes = number(&input, "bytes").unwrap_or(0);
    let stdout = flood(&mut std::io::stdout().lock(), 'o', bytes);
    let stderr = flood(&mut std::io::stderr().lock(), 'e', bytes);
    Ok(json!({ "stdout": stdout, "stderr": stderr }))
}

fn flood(out: &mut dyn Write, first: char, bytes: u64) -> u64 {
    // 256 lines at a time, so that a gigabyte does not take a million host calls.
    const LINES: u64 = 256;
    let mut written = 0;
    let mut line = 0;
    while written < bytes {
        let mut block: String = (line..line + LINES)
            .map(|n| format!("{first}{n:014}\n"))
            .collect();
        block.truncate((bytes - written).min(block.len() as u64) as usize);
        if out
            .write_all(block.as_bytes())
            .and_then(|()| out.flush())
            .is_err()
        {
            break;
        }
        written += block.len() as u64;
        line += LINES;
    }
    written
}

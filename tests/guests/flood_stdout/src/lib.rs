//! Writes `bytes` bytes to stdout and as many to stderr, as numbered lines of 16 bytes:
//! `o00000000000000\n`, `o00000000000001\n` … and `e00000000000000\n` …
//!
//! Input `{bytes}`. Output `{stdout, stderr}`: the number of bytes accepted.

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
    // 256 lines at a time, which saves host calls.
    let mut block: Vec<u8> = (0..256)
        .flat_map(|n| format!("{first}{n:014}\n").into_bytes())
        .collect();
    let mut written = 0;
    while written < bytes {
        let taken = &block[..block.len().min((bytes - written) as usize)];
        if out.write_all(taken).and_then(|()| out.flush()).is_err() {
            break;
        }
        written += taken.len() as u64;
        block
            .chunks_mut(16)
            .for_each(|line| add_256(&mut line[1..15]));
    }
    written
}

/// Adds to a number in digits, which is faster than formatting each number.
fn add_256(digits: &mut [u8]) {
    let mut carry = 256;
    for digit in digits.iter_mut().rev() {
        carry += u16::from(*digit - b'0');
        *digit = b'0' + (carry % 10) as u8;
        carry /= 10;
        if carry == 0 {
            break;
        }
    }
}

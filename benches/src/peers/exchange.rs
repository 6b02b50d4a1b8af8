//! Requests to processes and their answers: JSON, one on each line.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::works::Work;

#[derive(Serialize)]
struct Request<'a> {
    id: u64,
    work: &'a str,
    input: &'a Value,
}

#[derive(Deserialize)]
pub(super) struct Answer {
    pub(super) id: u64,
    pub(super) output: Value,
}

/// Returns the line of a request.
pub(super) fn request(id: u64, work: &Work) -> Vec<u8> {
    let (input, work) = (&work.input, work.in_scripts);
    let mut line = serde_json::to_vec(&Request { id, work, input }).unwrap();
    line.push(b'\n');
    line
}

pub(super) fn answer(line: &[u8]) -> Answer {
    serde_json::from_slice(line)
        .unwrap_or_else(|error| unreachable!("{error}: {}", String::from_utf8_lossy(line)))
}

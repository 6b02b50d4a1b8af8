//! The JSON that is asked: read, checked, parsed.

use std::fs::File;
use std::io::Read as _;

use jaq_json::{Val, read};
use serde::de::IgnoredAny;
use serde_json::Deserializer;
use toolhost_guest::ToolError;

use crate::fault;

/// The most bytes of a document. Its values take some ten times as much of the call's memory.
const MAX_BYTES: u64 = 16 << 20;

/// Reads the text of a file of the workdir.
pub(crate) fn read(path: &str) -> Result<Vec<u8>, ToolError> {
    let fail = |error| fault::file(error, path);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(fail)?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(fault::too_large(path, MAX_BYTES));
    }
    Ok(bytes)
}

/// Parses one value, or several after each other: JSON Lines.
///
/// # Errors
/// It is not JSON, or nested more than 127 deep; the message has line and column.
pub(crate) fn parse(bytes: &[u8], name: &str) -> Result<Vec<Val>, ToolError> {
    // serde_json knows the place of a mistake, and stops before it is nested too deep for anybody.
    for value in Deserializer::from_slice(bytes).into_iter::<IgnoredAny>() {
        value.map_err(|error| fault::json(&error, bytes, name))?;
    }
    read::parse_many(bytes)
        .collect::<Result<_, _>>()
        .map_err(|error| ToolError::from(format!("{name}: {error}")).code("INVALID_JSON"))
}

//! Reads, checks and parses the JSON document.

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
    let file = File::open(path).map_err(fail)?;
    let size = file.metadata().map_or(0, |found| found.len());
    // One more, so that the read that finds the end needs no more room.
    let mut bytes = Vec::with_capacity(size.min(MAX_BYTES) as usize + 1);
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(fault::too_large(path, MAX_BYTES));
    }
    Ok(bytes)
}

/// The deepest nesting: parsing takes stack for each level.
pub(crate) const MAX_DEPTH: usize = 127;

/// Parses one value, or several after each other: JSON Lines.
///
/// # Errors
/// The text is not JSON (the message has line and column), or nested too deep.
pub(crate) fn parse(bytes: &[u8], name: &str) -> Result<Vec<Val>, ToolError> {
    // jq skips it too.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    if depth(bytes) > MAX_DEPTH {
        return Err(fault::too_deep(name, MAX_DEPTH));
    }
    // serde_json knows the place of a mistake.
    for value in Deserializer::from_slice(bytes).into_iter::<IgnoredAny>() {
        value.map_err(|error| fault::json(&error, bytes, name))?;
    }
    read::parse_many(bytes)
        .collect::<Result<_, _>>()
        .map_err(|error| ToolError::from(format!("{name}: {error}")).code("INVALID_JSON"))
}

/// How deep brackets are nested, outside strings.
pub(crate) fn depth(bytes: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::depth;

    #[test]
    fn counts_brackets_that_are_no_text() {
        for (text, expected) in [
            ("1", 0),
            ("[{}]", 2),
            (r#"["[[\"[[", []]"#, 2),
            ("[][][]", 1),
            ("]]][", 1),
        ] {
            assert_eq!(depth(text.as_bytes()), expected, "{text}");
        }
    }
}

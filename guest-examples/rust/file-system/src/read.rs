//! `read`: the text of a file, or of its beginning.

use std::fs::File;
use std::io::{self, Read as _};

use serde::Deserialize;
use toolhost_guest::{Context, ToolError, Value, json};

use crate::failure;
use crate::path::GuestPath;

/// Enough for most sources, and far below what the host lets a result have (1 MiB).
const DEFAULT_MAX_BYTES: u64 = 100_000;

/// Most bytes that are allocated before any are read: the size of a file may be wrong.
const ROOM_MAX: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    path: String,
    max_bytes: Option<u64>,
}

/// Returns `{path, size, truncated, content}`; `size` is the whole file's.
pub(crate) fn read(_: &Context, input: Input) -> Result<Value, ToolError> {
    let path = GuestPath::new(&input.path);
    let fail = |error: io::Error| failure::io(path.as_str(), &error);

    let file = File::open(path.as_str()).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    if metadata.is_dir() {
        return Err(failure::is_directory(path.as_str()));
    }
    let max_bytes = input.max_bytes.unwrap_or(DEFAULT_MAX_BYTES);
    // One byte more tells whether there is more, without reading the rest of a large file.
    let wanted = max_bytes.saturating_add(1);
    // Room for all of it: an empty vector is filled 32 bytes at first, by a call of the host each time.
    let room = metadata.len().saturating_add(1).min(wanted).min(ROOM_MAX);
    let mut bytes = Vec::with_capacity(usize::try_from(room).unwrap_or_default());
    file.take(wanted).read_to_end(&mut bytes).map_err(fail)?;
    let truncated = bytes.len() as u64 > max_bytes;
    if truncated {
        bytes.pop();
        drop_cut_character(&mut bytes);
    }
    Ok(json!({
        "path": path.as_str(),
        "size": metadata.len(),
        "truncated": truncated,
        "content": text(bytes),
    }))
}

/// Replaces what is not UTF-8. Most files are: checking is faster than looking for what to replace.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Removes the beginning of a character whose end was cut off.
fn drop_cut_character(bytes: &mut Vec<u8>) {
    if let Err(error) = std::str::from_utf8(bytes) {
        // Without a length, the text is cut within a character, and not invalid.
        if error.error_len().is_none() {
            bytes.truncate(error.valid_up_to());
        }
    }
}

//! A text file that is read as a whole, to be changed.

use std::fs::File;
use std::io::{self, Read as _};

use toolhost_guest::ToolError;

use crate::encoding::{Codec, End, refuse_other_byte_order};
use crate::failure;

/// Most bytes of a file that is edited: it is in memory several times.
const SIZE_MAX: u64 = 16 << 20;

pub(crate) struct TextFile {
    pub(crate) bytes: Vec<u8>,
    pub(crate) text: String,
}

impl TextFile {
    /// Reads a file whose text can be written again without other changes.
    pub(crate) fn open(path: &str, codec: Codec) -> Result<Self, ToolError> {
        let bytes = read_bytes(path)?;
        refuse_other_byte_order(path, codec, &bytes)?;
        let (text, _) = codec
            .decode(&bytes, End::Whole)
            .map_err(|invalid| failure::not_text(path, codec, 0, &bytes, invalid.at))?;
        let is_exact = codec == Codec::Utf8 || codec.encode(&text, path)? == bytes;
        if !is_exact {
            return Err(failure::not_exact(path, &codec.name()));
        }
        Ok(Self { bytes, text })
    }
}

/// Reads the bytes of a file that is small enough to be changed in memory.
pub(crate) fn read_bytes(path: &str) -> Result<Vec<u8>, ToolError> {
    let fail = |error: io::Error| failure::io(path, &error);
    let file = File::open(path).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    if metadata.is_dir() {
        return Err(failure::is_directory(path));
    }
    if metadata.len() > SIZE_MAX {
        return Err(failure::too_large(path, metadata.len(), SIZE_MAX));
    }
    let room = usize::try_from(metadata.len() + 1).unwrap_or_default();
    let mut bytes = Vec::with_capacity(room);
    file.take(SIZE_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    Ok(bytes)
}

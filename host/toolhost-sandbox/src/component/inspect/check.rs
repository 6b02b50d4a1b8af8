//! Errors of components that exceed a limit or are malformed.

use wasmparser::{BinaryReaderError, ElementItems, ElementSectionReader};

use crate::PrepareError;
use toolhost_contract::text::printable;

/// Longest message of the parser, in bytes: it may quote the file.
const MALFORMED_MAX: usize = 1_000;

/// Compares a number with its limit.
pub(super) fn within(what: &'static str, found: u64, limit: u64) -> Result<(), PrepareError> {
    if found > limit {
        return Err(PrepareError::TooLarge { what, found, limit });
    }
    Ok(())
}

pub(super) fn malformed(error: BinaryReaderError) -> PrepareError {
    // Some messages have several lines.
    let words: Vec<&str> = error.message().split_whitespace().collect();
    PrepareError::NotAComponent(format!(
        "the file is not a valid component: {} (at byte {})",
        printable(&words.join(" "), MALFORMED_MAX),
        error.offset()
    ))
}

/// Counts the elements of all segments.
pub(super) fn elements_in(section: &ElementSectionReader<'_>) -> Result<u64, PrepareError> {
    let mut elements = 0_u64;
    for segment in section.clone() {
        let count = match segment.map_err(malformed)?.items {
            ElementItems::Functions(items) => items.count(),
            ElementItems::Expressions(_, items) => items.count(),
        };
        elements = elements.saturating_add(count.into());
    }
    Ok(elements)
}

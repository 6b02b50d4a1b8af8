//! Components that describe themselves: a section holds what `spec.exports` of a manifest would.
//!
//! `toolhost build` writes it, from the types of the tool's functions. A manifest without `exports` gets them from
//! there, so that nothing of the tool runs to tell what it offers.

use serde_json::Value;

use super::section;

/// The name of the section.
const SECTION: &str = "goondan:exports";

/// Maximum size of the section, in bytes.
pub(super) const BYTES_MAX: usize = 1 << 20;

/// Appends a list of exports to a component. Returns `false`, and changes nothing, if it is larger than a host reads.
///
/// # Errors
/// The list cannot be written as JSON.
pub fn put_on(component: &mut Vec<u8>, exports: &[Value]) -> serde_json::Result<bool> {
    // Findings name a line.
    let text = serde_json::to_vec_pretty(exports)?;
    let fits = text.len() <= BYTES_MAX;
    if fits {
        section::append(component, SECTION, &text);
    }
    Ok(fits)
}

/// Returns the list of exports of a component, as text that is JSON; `None` if there is none.
pub fn find(component: &[u8]) -> Option<&str> {
    let text = section::find(component, SECTION)?;
    let text = text.get(..text.len().min(BYTES_MAX + 1))?;
    std::str::from_utf8(text).ok()
}

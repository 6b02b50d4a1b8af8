//! Reads JSON that strangers wrote: models, tools, servers, clients, files.
//!
//! A parsed value takes up to 400 bytes of memory for two bytes of text, so a limit of bytes alone bounds
//! nothing. [`JsonLimits`] measures a text without allocation before it parses it.

mod error;
mod limits;
mod place;
mod scan;

pub use error::{JsonError, JsonPlace};
pub use limits::JsonLimits;
pub use scan::JsonShape;

/// Returns the deepest nesting of a JSON text.
pub fn json_depth(json: &str) -> usize {
    JsonShape::of(json).depth
}

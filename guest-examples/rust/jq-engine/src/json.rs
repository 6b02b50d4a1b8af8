//! JSON as jq reads and prints it.

mod read;
mod write;

pub(crate) use read::unescape;
pub use read::{MAX_DEPTH, Reader, parse};
pub(crate) use write::excerpt;
pub use write::{Indent, Style, print, write};

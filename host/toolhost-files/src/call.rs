//! The files of one call: what a guest does with them, within the limits of the call and of the workdir.
//!
//! Refused:
//! - every path that leaves the workdir (`..`, absolute paths, symlinks); the kernel's own path
//!   resolution refuses them, and no strings are compared
//! - every file that is neither a regular file nor a directory, checked by handle
//! - changes to write-protected files, under whatever name a guest uses
//! - growth beyond the limits of the call and of the workdir
//!
//! Each verb of [`CallFiles`] checks, counts and records what it does; [`Tree`](crate::workdir::Tree) does it.

mod attributes;
mod budget;
mod descriptor;
mod digest;
mod file;
mod files;
mod listing;
mod meter;
mod modes;
mod names;
mod open;
#[cfg(test)]
mod tests;

pub use descriptor::Descriptor;
pub use digest::digest_changes;
pub use file::{CHUNK, FileAccess, OpenFile, Synced};
pub use files::CallFiles;
pub use listing::Listing;
pub use meter::FileMeter;
pub use open::OpenRequest;

//! Implements `wasi:filesystem` on top of `openat2`: a guest reaches its workdir and nothing else.
//!
//! Refused:
//! - every path that leaves the workdir (`..`, absolute paths, symlinks); the kernel's own path
//!   resolution refuses them, and no strings are compared
//! - every file that is neither a regular file nor a directory, checked by handle
//! - changes to write-protected files, under whatever name a guest uses
//! - growth beyond the limits of the call and of the workdir
//!
//! Operations run inline, on the thread that runs the guest: on a local disk only syncs block for
//! long, and those run on other threads. See [`FileIo::Offload`](crate::FileIo) for other disks.

mod attributes;
pub(crate) mod beneath;
mod budget;
mod context;
mod descriptor;
mod descriptor_methods;
mod digest;
mod dir_entry;
mod error;
mod file;
mod found;
mod listing;
mod meter;
mod open;
mod stream;
#[cfg(test)]
mod transaction_limits;
#[cfg(test)]
mod transaction_tests;
mod view;

pub(crate) use context::Filesystem;
pub(crate) use digest::digest_changes;
pub(crate) use error::FsError;
pub(crate) use meter::FileMeter;
pub(crate) use view::{FilesystemView, HasFilesystem};
#[expect(unreachable_pub, reason = "the generated bindings re-export them")]
pub use {descriptor::Descriptor, listing::Listing};

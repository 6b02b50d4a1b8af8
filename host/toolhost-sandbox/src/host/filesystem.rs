//! Serves `wasi:filesystem` and `goondan:tool/modes` from the [files of a call](toolhost_files::CallFiles): converts
//! their types to ours and back.
//!
//! Operations run inline, on the thread that runs the guest: on a local disk only syncs block for
//! long, and those run on other threads. See [`FileIo::Offload`](crate::FileIo) for other disks.

mod attributes;
mod descriptor_methods;
mod error;
mod modes;
mod stream;
mod view;

pub(crate) use error::FsError;
pub(crate) use view::{Filesystem, FilesystemView, HasFilesystem};

//! The open directory of a workdir.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use cap_std::fs::Dir;

use super::usage::WorkdirUsage;
use crate::platform;

/// The device of a directory, and its mount, where the kernel returns it (Linux 5.8): renames are possible
/// within a mount.
pub(super) type MountId = (u64, Option<u64>);

/// Where the file operations of a guest run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FileIo {
    /// On the thread that runs the guest. Right for local disks, where no operation blocks for long.
    #[default]
    Inline,
    /// On a thread of the call's own, for network file systems, which may hang. At the deadline the
    /// call returns and frees its slot all the same: see
    /// `Sandbox::hanging_calls` of `toolhost-sandbox`.
    Offload,
}

/// The open directory of a [`Workdir`](crate::Workdir), without the changes of a transaction.
#[derive(Debug, Clone)]
pub struct WorkdirHandle {
    pub(crate) dir: Arc<Dir>,
    pub(crate) usage: WorkdirUsage,
    pub(crate) file_io: FileIo,
    /// The mount of the directory, once a transaction has asked for it. An open directory stays in its mount.
    pub(super) mount: Arc<OnceLock<MountId>>,
}

impl WorkdirHandle {
    /// The directory itself.
    pub fn dir(&self) -> &Arc<Dir> {
        &self.dir
    }

    /// Where file operations run.
    pub fn file_io(&self) -> FileIo {
        self.file_io
    }

    /// Returns a path of the directory for code of this process: the path that it has now, or one
    /// beneath `/proc` that leads to this handle, if it has no path or one that is not UTF-8. The latter
    /// is valid in this process as long as the handle is held.
    pub fn path(&self) -> String {
        let path = self.real_path().map(PathBuf::into_os_string);
        let path = path.and_then(|path| path.into_string().ok());
        path.unwrap_or_else(|| self.handle_path())
    }

    /// Returns the path that the directory has now; none if it was removed.
    pub fn real_path(&self) -> Option<PathBuf> {
        // The kernel's answer: it follows renames, and opens nothing.
        let path = platform::path_of(&*self.dir).ok()?;
        let path = PathBuf::from(OsString::from_vec(path.into_bytes()));
        let is_removed = path.as_os_str().as_bytes().ends_with(b" (deleted)");
        (path.is_absolute() && !is_removed).then_some(path)
    }

    fn handle_path(&self) -> String {
        platform::handle_path(&*self.dir)
    }
}

impl AsFd for WorkdirHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

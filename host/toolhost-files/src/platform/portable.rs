//! Portable replacements of `linux_calls`.

use std::fs::File;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::Resolve;

/// The system has no such call: the path is opened one name at a time.
pub fn resolve_beneath(_: impl AsFd, _: &str, _: OFlags, _: Resolve) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// The system has no such call.
pub fn resolves_beneath() -> bool {
    false
}

/// No link leads to the files that are open.
pub fn has_proc() -> bool {
    false
}

/// Writes at the end of a file. Returns how many bytes.
pub fn append(file: &File, bytes: &[u8]) -> Result<usize, Errno> {
    // No other call writes meanwhile: the file's size is locked.
    let end = rustix::fs::seek(file, rustix::fs::SeekFrom::End(0))?;
    rustix::io::pwrite(file, bytes, end)
}

/// How a file will be read.
#[expect(missing_docs, reason = "as `posix_fadvise` has them")]
#[derive(Debug, Clone, Copy)]
pub enum Advice {
    Normal,
    Sequential,
    Random,
    WillNeed,
    DontNeed,
    NoReuse,
}

/// The system takes no advice.
pub fn advise(_: &File, _: u64, _: Option<NonZeroU64>, _: Advice) -> Result<(), Errno> {
    Ok(())
}

/// Copies bytes from one file to another at the same offset.
pub fn copy_range(_: &File, _: &File, _: &mut u64, _: usize) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}

/// Makes a file share the blocks of another.
pub fn clone_file(_: &File, _: &File) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}

/// Writes all of a file system to the disk.
pub fn sync_file_system(dir: impl AsFd) -> Result<(), Errno> {
    super::system::sync_all(dir)
}

//! System calls that only Linux has.

use std::fs::File;
use std::io::IoSlice;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;

pub use rustix::fs::Advice;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::{Errno, ReadWriteFlags, pwritev2};

use super::{PATH_ONLY, Resolve};

/// Opens a path beneath a directory.
///
/// # Errors
/// `NOSYS` or `PERM` where the kernel or a filter of system calls refuses the call itself.
pub fn resolve_beneath(
    dir: impl AsFd,
    path: &str,
    flags: OFlags,
    how: Resolve,
) -> Result<OwnedFd, Errno> {
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    resolve.set(ResolveFlags::NO_SYMLINKS, how.no_links);
    resolve.set(ResolveFlags::NO_XDEV, how.no_mounts);
    openat2(dir, path, flags, Mode::empty(), resolve)
}

/// Whether the kernel has `openat2`, and no filter of system calls refuses it.
pub fn resolves_beneath() -> bool {
    let opened = resolve_beneath(CWD, ".", PATH_ONLY, Resolve::default());
    !matches!(opened, Err(Errno::NOSYS | Errno::PERM))
}

/// Whether the kernel's own `/proc` is mounted, whose links lead to the files that are open.
pub fn has_proc() -> bool {
    static HAS_PROC: OnceLock<bool> = OnceLock::new();
    *HAS_PROC.get_or_init(|| {
        let mounted = rustix::fs::statfs("/proc/self/fd");
        mounted.is_ok_and(|mounted| mounted.f_type == rustix::fs::PROC_SUPER_MAGIC)
    })
}

/// Writes at the end of a file. Returns how many bytes.
pub fn append(file: &File, bytes: &[u8]) -> Result<usize, Errno> {
    pwritev2(file, &[IoSlice::new(bytes)], 0, ReadWriteFlags::APPEND)
}

/// Tells the system how a file will be read.
pub fn advise(
    file: &File,
    offset: u64,
    length: Option<NonZeroU64>,
    advice: Advice,
) -> Result<(), Errno> {
    rustix::fs::fadvise(file, offset, length, advice)
}

/// Copies bytes from one file to another at the same offset. Returns how many, and advances the offset.
pub fn copy_range(source: &File, made: &File, at: &mut u64, length: usize) -> Result<usize, Errno> {
    let mut to = *at;
    rustix::fs::copy_file_range(source, Some(at), made, Some(&mut to), length)
}

/// Makes a file share the blocks of another.
pub fn clone_file(made: &File, source: &File) -> Result<(), Errno> {
    rustix::fs::ioctl_ficlone(made, source)
}

/// Writes all of a file system to the disk.
pub fn sync_file_system(dir: impl AsFd) -> Result<(), Errno> {
    rustix::fs::syncfs(dir)
}

//! What macOS has.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags, Stat, StatFs, Timestamps, fstat};
use rustix::io::Errno;

/// Opens a file, a directory or a symlink without waiting. There is no handle for metadata alone: the file must be
/// readable.
pub const PATH_ONLY: OFlags = OFlags::SYMLINK
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// There is no such flag.
pub const KEEP_ACCESS_TIME: OFlags = OFlags::empty();

/// Returns the number of the file system that a file is in.
pub fn device(found: &Stat) -> u64 {
    u64::from(found.st_dev.cast_unsigned())
}

/// Returns the type and the permissions of a file.
pub fn mode(found: &Stat) -> u32 {
    u32::from(found.st_mode)
}

/// File systems have no numbers that are the same everywhere.
pub fn file_system_type(_: &StatFs) -> u64 {
    0
}

/// Whether a file system of this type may hold the device files.
pub fn may_hold_devices(_: u64) -> bool {
    true
}

/// Sets the times of what a handle is open for.
pub fn set_times(handle: impl AsFd, times: &Timestamps) -> Result<(), Errno> {
    rustix::fs::futimens(handle, times)
}

/// Sets the permissions of what a handle is open for.
pub fn set_mode(handle: impl AsFd, mode: Mode) -> Result<(), Errno> {
    rustix::fs::fchmod(handle, mode)
}

/// Returns the permissions that new files of this process do not get.
pub fn umask() -> u32 {
    static MASK: OnceLock<u32> = OnceLock::new();
    // The system tells it only while it is changed; what another thread creates meanwhile is private.
    *MASK.get_or_init(|| {
        let mask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
        rustix::process::umask(mask);
        u32::from(mask.bits())
    })
}

/// Returns the target of a symlink that a handle is open for, by its path, if that still names it.
pub fn read_link_of(handle: impl AsFd) -> Result<CString, Errno> {
    let path = path_of(&handle)?;
    let target = rustix::fs::readlink(&path, Vec::new())?;
    let (own, named) = (fstat(handle)?, rustix::fs::lstat(&path)?);
    if (own.st_dev, own.st_ino) == (named.st_dev, named.st_ino) {
        Ok(target)
    } else {
        Err(Errno::AGAIN)
    }
}

/// Returns the path of what a handle is open for, without symlinks.
pub fn path_of(handle: impl AsFd) -> Result<CString, Errno> {
    rustix::fs::getpath(handle)
}

/// Returns a path that leads to an open file of this process, with the access that it has.
pub fn fd_path(file: impl AsFd) -> String {
    format!("/dev/fd/{}", file.as_fd().as_raw_fd())
}

/// Returns a path that leads to an open directory of this process, for other processes, too.
pub fn handle_path(dir: impl AsFd) -> String {
    format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        dir.as_fd().as_raw_fd()
    )
}

/// Opens the very file that a handle is open for, with other access: by its path, if that still names it.
pub fn open_again(handle: impl AsFd, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW;
    let file = rustix::fs::open(path_of(&handle)?, flags, Mode::empty())?;
    let (own, again) = (fstat(handle)?, fstat(&file)?);
    if (own.st_dev, own.st_ino) == (again.st_dev, again.st_ino) {
        Ok(file)
    } else {
        Err(Errno::AGAIN)
    }
}

/// Returns when a directory was made, in seconds and nanoseconds.
pub fn birth_time(dir: impl AsFd) -> Option<(i64, u32)> {
    let stat = fstat(dir).ok()?;
    let nanoseconds = u32::try_from(stat.st_birthtime_nsec).ok()?;
    Some((stat.st_birthtime, nanoseconds))
}

/// A mount has no number of its own; its file system has one.
pub fn mount_id(_: impl AsFd) -> Option<u64> {
    None
}

/// Writes all of all file systems to the disk.
pub(super) fn sync_all(dir: impl AsFd) -> Result<(), Errno> {
    rustix::fs::fsync(dir)?;
    rustix::fs::sync();
    Ok(())
}

//! What Linux has.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, Stat, StatFs, StatxFlags, Timestamps, statx};
use rustix::io::Errno;

/// Opens a file, a directory or a symlink for its metadata and its path alone.
pub const PATH_ONLY: OFlags = OFlags::PATH;

/// Reads without a change of the time of access.
pub const KEEP_ACCESS_TIME: OFlags = OFlags::NOATIME;

/// The numbers of file systems in memory. A file system of devices has one of them.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// Returns the number of the file system that a file is in.
pub fn device(found: &Stat) -> u64 {
    found.st_dev
}

/// Returns the type and the permissions of a file.
pub fn mode(found: &Stat) -> u32 {
    found.st_mode
}

/// Returns the type of a file system as the unsigned number of 32 bits that it is.
pub fn file_system_type(found: &StatFs) -> u64 {
    found.f_type.cast_unsigned() & 0xffff_ffff
}

/// Whether a file system of this type may hold the device files.
pub fn may_hold_devices(kind: u64) -> bool {
    IN_MEMORY.contains(&kind)
}

/// Sets the times of what a handle is open for.
pub fn set_times(handle: impl AsFd, times: &Timestamps) -> Result<(), Errno> {
    rustix::fs::utimensat(handle, "", times, AtFlags::EMPTY_PATH)
}

/// Sets the permissions of what a handle is open for.
///
/// # Errors
/// `ENOTSUP` where `/proc` is not mounted.
pub fn set_mode(handle: impl AsFd, mode: Mode) -> Result<(), Errno> {
    match rustix::fs::chmod(fd_path(handle), mode) {
        Err(Errno::NOENT) => Err(Errno::NOTSUP),
        set => set,
    }
}

/// Returns the permissions that new files of this process do not get. Where the kernel does not tell, these are all of
/// the group and of others.
pub fn umask() -> u32 {
    // `umask` itself would change it for all threads.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let told = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    let mask = told.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok());
    mask.unwrap_or(0o077)
}

/// Returns the target of a symlink that a handle is open for.
pub fn read_link_of(handle: impl AsFd) -> Result<CString, Errno> {
    rustix::fs::readlinkat(handle, "", Vec::new())
}

/// Returns the path of what a handle is open for, without symlinks. That of a removed file ends with ` (deleted)`.
pub fn path_of(handle: impl AsFd) -> Result<CString, Errno> {
    rustix::fs::readlink(fd_path(handle), Vec::new())
}

/// Returns a path that leads to an open file of this process.
pub fn fd_path(file: impl AsFd) -> String {
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}

/// Returns a path that leads to an open directory of this process, for other processes, too.
pub fn handle_path(dir: impl AsFd) -> String {
    format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        dir.as_fd().as_raw_fd()
    )
}

/// Opens the very file that a handle is open for, with other access.
pub fn open_again(handle: impl AsFd, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::open(fd_path(handle), flags, Mode::empty())
}

/// Returns when a directory was made, in seconds and nanoseconds. None where the file system does not keep it.
pub fn birth_time(dir: impl AsFd) -> Option<(i64, u32)> {
    let fields = StatxFlags::INO | StatxFlags::BTIME;
    let stat = statx(dir, "", AtFlags::EMPTY_PATH, fields).ok()?;
    let is_known = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    is_known.then_some((stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec))
}

/// Returns the mount in which a directory is open.
pub fn mount_id(dir: impl AsFd) -> Option<u64> {
    let fields = StatxFlags::MNT_ID;
    let stat = statx(dir, "", AtFlags::EMPTY_PATH, fields).ok()?;
    (stat.stx_mask & fields.bits() != 0).then_some(stat.stx_mnt_id)
}

/// Writes all of all file systems to the disk.
#[cfg_attr(
    not(feature = "portable"),
    expect(dead_code, reason = "the kernel writes one file system")
)]
pub(super) fn sync_all(dir: impl AsFd) -> Result<(), Errno> {
    rustix::fs::fsync(dir)?;
    rustix::fs::sync();
    Ok(())
}

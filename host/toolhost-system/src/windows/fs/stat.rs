//! What the system knows of a file.

use std::fs::File;
use std::os::windows::fs::MetadataExt as _;

use io_lifetimes::AsFilelike as _;
use winx::winapi_util::file::information;

use super::open::{Wanted, open_for};
use crate::windows::fd::AsFd;
use crate::windows::io::{Errno, Result};
use crate::windows::path::Arg;
use crate::windows::process::geteuid;

/// The type of a regular file in a mode.
pub(super) const REGULAR: u32 = 0o100_000;

/// The type of a directory in a mode.
pub(super) const DIRECTORY: u32 = 0o040_000;

/// The type of a symbolic link in a mode, and of a junction.
pub(super) const SYMLINK: u32 = 0o120_000;

/// Bits of the type in a mode.
const TYPE: u32 = 0o170_000;

/// Seconds between 1601, where times of Windows begin, and 1970.
const SECONDS_BEFORE_1970: i64 = 11_644_473_600;

/// Units of time of Windows in a second.
const UNITS: u64 = 10_000_000;

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileType {
    /// A regular file.
    RegularFile,
    /// A directory.
    Directory,
    /// A symbolic link or a junction.
    Symlink,
    /// A named pipe. No entry of a directory is one.
    Fifo,
    /// A socket. No entry of a directory is one.
    Socket,
    /// A device. No entry of a directory is one.
    CharacterDevice,
    /// A device of blocks. No entry of a directory is one.
    BlockDevice,
    /// Something else.
    Unknown,
}

impl FileType {
    /// Returns the type that a mode has.
    #[must_use]
    pub const fn from_raw_mode(mode: u32) -> Self {
        match mode & TYPE {
            REGULAR => Self::RegularFile,
            DIRECTORY => Self::Directory,
            SYMLINK => Self::Symlink,
            _ => Self::Unknown,
        }
    }
}

/// What the system knows of a file. The fields have the names of Unix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// The serial number of the volume.
    pub st_dev: u64,
    /// The index of the file in its volume.
    pub st_ino: u64,
    /// The type and the permission bits, which are those of a file that its owner alone may read and write.
    pub st_mode: u32,
    /// How many names it has.
    pub st_nlink: u64,
    /// The owner: the user of this process.
    pub st_uid: u32,
    /// The group: the user of this process.
    pub st_gid: u32,
    /// Bytes.
    pub st_size: i64,
    /// Blocks of 512 bytes that the content fills. What a volume compresses or leaves out counts, too.
    pub st_blocks: i64,
    /// When it was last read, in seconds since 1970.
    pub st_atime: i64,
    /// The nanoseconds of that.
    pub st_atime_nsec: i64,
    /// When its content was last changed, in seconds since 1970.
    pub st_mtime: i64,
    /// The nanoseconds of that.
    pub st_mtime_nsec: i64,
    /// The same as `st_mtime`, as changes of names are not known.
    pub st_ctime: i64,
    /// The nanoseconds of that.
    pub st_ctime_nsec: i64,
}

/// What the system knows of a volume: nothing that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatFs {
    /// The number of its type. Always 0.
    pub f_type: u64,
}

/// The space of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatVfs {
    /// Bytes of a block.
    pub f_frsize: u64,
    /// Blocks that are free for the user.
    pub f_bavail: u64,
}

/// Returns the identity of a file: the serial number of its volume and its index there.
#[must_use]
pub fn identity_of(found: &Stat) -> (u64, u64) {
    (found.st_dev, found.st_ino)
}

/// Returns what the system knows of an open file.
///
/// # Errors
/// The error of the system.
pub fn fstat(file: impl AsFd) -> Result<Stat> {
    let file = file.as_fd();
    let file = file.as_filelike_view::<File>();
    let (metadata, found) = (file.metadata()?, information(&*file)?);
    let size = i64::try_from(metadata.len()).map_err(|_| Errno::OVERFLOW)?;
    let (atime, atime_nsec) = unix_time(metadata.last_access_time());
    let (mtime, mtime_nsec) = unix_time(metadata.last_write_time());
    let user = geteuid().as_raw();
    Ok(Stat {
        st_dev: found.volume_serial_number(),
        st_ino: found.file_index(),
        st_mode: mode_of(&metadata),
        st_nlink: found.number_of_links(),
        st_uid: user,
        st_gid: user,
        st_size: size,
        st_blocks: size.saturating_add(511) / 512,
        st_atime: atime,
        st_atime_nsec: atime_nsec,
        st_mtime: mtime,
        st_mtime_nsec: mtime_nsec,
        st_ctime: mtime,
        st_ctime_nsec: mtime_nsec,
    })
}

/// Returns the mode of a file.
pub(super) fn mode_of(metadata: &std::fs::Metadata) -> u32 {
    let kind = metadata.file_type();
    if kind.is_symlink() {
        SYMLINK | 0o700
    } else if kind.is_dir() {
        DIRECTORY | 0o700
    } else if kind.is_file() {
        REGULAR | 0o600
    } else {
        0o600
    }
}

/// Converts a time of Windows. Returns seconds and nanoseconds.
pub(crate) fn unix_time(time: u64) -> (i64, i64) {
    let seconds = i64::try_from(time / UNITS).unwrap_or(i64::MAX);
    let nanoseconds = i64::try_from(time % UNITS).unwrap_or_default() * 100;
    (seconds.saturating_sub(SECONDS_BEFORE_1970), nanoseconds)
}

/// Returns what the system knows of the file at a path.
///
/// # Errors
/// The error of the system.
pub fn stat(path: impl Arg) -> Result<Stat> {
    fstat(open_for(&path.as_path()?, Wanted::Metadata)?)
}

/// Returns what is known of the volume of an open file.
///
/// # Errors
/// None.
pub fn fstatfs(_: impl AsFd) -> Result<StatFs> {
    Ok(StatFs { f_type: 0 })
}

/// Returns the type of the volume of a path: it is not asked for.
///
/// # Errors
/// `NOSYS`.
pub fn statfs(_: impl Arg) -> Result<StatFs> {
    Err(Errno::NOSYS)
}

/// Returns the space of the volume of a path: it is not asked for.
///
/// # Errors
/// `NOSYS`.
pub fn statvfs(_: impl Arg) -> Result<StatVfs> {
    Err(Errno::NOSYS)
}

//! What Windows has. Paths are written with `/` here, as guests write them.

use std::ffi::CString;
use std::io;
use std::path::Path;

use toolhost_system::fd::AsFd;
use toolhost_system::fs::{OFlags, Stat, StatFs};
use toolhost_system::io::Errno;
use toolhost_system::process::{Pid, Resource, Rlimit};

pub(crate) use toolhost_system::fs::{futimens as set_times, open_again, read_link_of};

/// Opens a file, a directory or a symlink for its metadata and its path alone.
pub(crate) const PATH_ONLY: OFlags = OFlags::PATH;

/// There is no such flag.
pub(crate) const KEEP_ACCESS_TIME: OFlags = OFlags::empty();

/// Whether an open file can be mapped, whatever has its path by now.
pub(crate) const HAS_FD_PATH: bool = false;

/// Whether two files can be exchanged in one step, as far as the system goes.
pub(crate) const HAS_EXCHANGE: bool = false;

/// Whether the host reserves the addresses of memories itself. The engine does, and allocates stacks.
pub(crate) const HAS_ADDRESS_SPACE: bool = false;

/// What `\\?\` becomes before the names of a server and a share.
const SERVER: &str = r"\\?\UNC\";

/// The beginning of a path whose names are taken as they are.
const VERBATIM: &str = r"\\?\";

/// Returns the number of the volume that a file is in.
pub(crate) fn device(found: &Stat) -> u64 {
    found.st_dev
}

/// Returns the type and the permissions of a file.
pub(crate) fn mode(found: &Stat) -> u32 {
    found.st_mode
}

/// No volume is an interface of the system.
pub(crate) fn file_system_type(_: &StatFs) -> u64 {
    0
}

/// Devices are not files of a volume.
pub(crate) fn may_hold_devices(_: u64) -> bool {
    false
}

/// Returns the path of what a handle is open for, without symlinks.
pub(crate) fn path_of(handle: impl AsFd) -> Result<CString, Errno> {
    let path = toolhost_system::fs::path_of(handle)?;
    let text = plain(&path)?.replace('\\', "/");
    CString::new(text).map_err(|_| Errno::INVAL)
}

/// Returns a path without the prefix that has names taken as they are.
fn plain(path: &Path) -> Result<String, Errno> {
    let text = path.to_str().ok_or(Errno::ILSEQ)?;
    Ok(match text.strip_prefix(SERVER) {
        Some(share) => format!(r"\\{share}"),
        None => text.strip_prefix(VERBATIM).unwrap_or(text).to_owned(),
    })
}

/// Returns a path that leads to an open file: there is none that leads to it alone, and what is mapped must be the very
/// file that was verified.
pub(crate) fn fd_path(_: impl AsFd) -> io::Result<String> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns a path that leads to an open directory of this process: no path leads to a handle.
pub(crate) fn handle_path(_: impl AsFd) -> String {
    String::new()
}

/// When a directory was made is not asked for.
pub(crate) fn birth_time(_: impl AsFd) -> Option<(i64, u32)> {
    None
}

/// A mount has no number of its own; its volume has one.
pub(crate) fn mount_id(_: impl AsFd) -> Option<u64> {
    None
}

/// The system has no such request, and no compiler runs in a process of its own.
pub(crate) fn end_with_parent() {}

/// The system has no such request.
pub(crate) fn limit_process(_: Pid, _: Resource, _: Rlimit) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}

/// The system has no such request.
pub(crate) fn sync_all(_: impl AsFd) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}

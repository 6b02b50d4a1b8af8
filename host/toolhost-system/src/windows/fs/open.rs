//! Opening files.

use std::fs::{File, OpenOptions};
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::Path;

use super::flags::{Access, Mode, OFlags};
use crate::windows::fd::OwnedFd;
use crate::windows::io::{Errno, Result};
use crate::windows::path::Arg;

/// `FILE_FLAG_BACKUP_SEMANTICS`: opens directories, too.
const BACKUP_SEMANTICS: u32 = 0x0200_0000;

/// `FILE_FLAG_OPEN_REPARSE_POINT`: opens a link itself.
pub(super) const OPEN_REPARSE_POINT: u32 = 0x0020_0000;

/// `FILE_SHARE_READ` and `FILE_SHARE_WRITE`, without `FILE_SHARE_DELETE`: nobody renames or removes what is open.
const SHARE_CONTENT: u32 = 1 | 2;

/// `FILE_READ_ATTRIBUTES`.
const READ_ATTRIBUTES: u32 = 0x80;

/// `FILE_WRITE_ATTRIBUTES`.
const WRITE_ATTRIBUTES: u32 = 0x100;

/// What a handle is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Metadata of what a path leads to.
    Metadata,
    /// Metadata of what has the name, even if it is a link.
    OwnMetadata,
    /// The times of what has the name, even if it is a link.
    OwnTimes,
}

/// Opens a path without access to its content. Others may rename and remove it meanwhile.
pub(super) fn open_for(path: &Path, wanted: Wanted) -> Result<File> {
    let (access, link) = match wanted {
        Wanted::Metadata => (READ_ATTRIBUTES, 0),
        Wanted::OwnMetadata => (READ_ATTRIBUTES, OPEN_REPARSE_POINT),
        Wanted::OwnTimes => (READ_ATTRIBUTES | WRITE_ATTRIBUTES, OPEN_REPARSE_POINT),
    };
    let mut options = OpenOptions::new();
    options
        .access_mode(access)
        .custom_flags(BACKUP_SEMANTICS | link);
    Ok(options.open(path)?)
}

/// Opens a file or a directory. With `NOFOLLOW`, a link is refused.
///
/// # Errors
/// `LOOP` for a link, `NOTDIR` or `ISDIR` for another type than the flags allow, and errors of the system.
pub fn open(path: impl Arg, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    open_path(&path.as_path()?, flags, mode)
}

/// Opens a file or a directory. The mode is not kept.
pub(super) fn open_path(path: &Path, flags: OFlags, _: Mode) -> Result<OwnedFd> {
    let is_path = flags.contains(OFlags::PATH);
    let nofollow = flags.contains(OFlags::NOFOLLOW);
    let access = flags & OFlags::RWMODE;
    // The standard library creates no file that it does not open for writing.
    let creates = !is_path && flags.contains(OFlags::CREATE);
    let writes = creates || !is_path && access != OFlags::RDONLY;
    if is_path && !flags.contains(OFlags::DIRECTORY) {
        let wanted = if nofollow {
            Wanted::OwnMetadata
        } else {
            Wanted::Metadata
        };
        return Ok(open_for(path, wanted)?.into());
    }
    if flags.contains(OFlags::DIRECTORY) && writes {
        return Err(Errno::INVAL);
    }
    // Truncated once it is known what was opened: Windows makes a file of a link that it truncates.
    let truncates = writes && flags.contains(OFlags::TRUNC);
    let mut options = OpenOptions::new();
    options
        .read(is_path || access != OFlags::WRONLY)
        .write(writes && !flags.contains(OFlags::APPEND))
        .append(writes && flags.contains(OFlags::APPEND))
        .create(creates)
        .create_new(creates && flags.contains(OFlags::EXCL));
    let mut custom = 0;
    if !writes {
        custom |= BACKUP_SEMANTICS;
    }
    if nofollow {
        custom |= OPEN_REPARSE_POINT;
    }
    if flags.contains(OFlags::DIRECTORY) {
        options.share_mode(SHARE_CONTENT);
    }
    let file = options.custom_flags(custom).open(path)?;
    check(&file, flags)?;
    if truncates {
        file.set_len(0)?;
    }
    Ok(file.into())
}

/// Checks the type of what was opened.
fn check(file: &File, flags: OFlags) -> Result<()> {
    let kind = file.metadata()?.file_type();
    if kind.is_symlink() {
        Err(Errno::LOOP)
    } else if flags.contains(OFlags::DIRECTORY) && !kind.is_dir() {
        Err(Errno::NOTDIR)
    } else {
        Ok(())
    }
}

/// Whether this process may use a file in this way, as far as its attributes say: a file that is read-only cannot be
/// written. The access control list is not asked.
///
/// # Errors
/// `ACCESS`, and errors of the system.
pub fn access(path: impl Arg, access: Access) -> Result<()> {
    let found = std::fs::metadata(path.as_path()?)?;
    let is_read_only = found.is_file() && found.permissions().readonly();
    if is_read_only && access.contains(Access::WRITE_OK) {
        Err(Errno::ACCESS)
    } else {
        Ok(())
    }
}

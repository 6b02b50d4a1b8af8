//! Calls that take an open file.

use std::ffi::CString;
use std::fs::{File, TryLockError};
use std::io::Seek as _;
use std::path::{Path, PathBuf};

use io_lifetimes::AsFilelike as _;

use super::flags::{FlockOperation, Mode, OFlags, SeekFrom};
use super::link::target_of;
use super::open::{Wanted, open_for, open_path};
use super::stat::fstat;
use crate::windows::fd::{AsFd, OwnedFd};
use crate::windows::io::{Errno, Result};
use crate::windows::process::{Gid, Uid};

/// Returns the path that an open file has now, without links. It begins with `\\?\`, so that no name in it gets
/// another meaning.
///
/// # Errors
/// The error of the system.
pub fn path_of(file: impl AsFd) -> Result<PathBuf> {
    let file = file.as_fd();
    Ok(winx::file::get_file_path(&file.as_filelike_view::<File>())?)
}

/// Fails unless a path names the file that a handle is open for.
fn check_same(handle: impl AsFd, opened: impl AsFd) -> Result<()> {
    let (own, found) = (fstat(handle)?, fstat(opened)?);
    if (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino) {
        Ok(())
    } else {
        Err(Errno::AGAIN)
    }
}

/// Opens the very file that a handle is open for, with other access: by its path, if that still names it.
///
/// # Errors
/// `AGAIN` if another file has the path by now, and errors of the system.
pub fn open_again(handle: impl AsFd, flags: OFlags) -> Result<OwnedFd> {
    let opened = open_path(&path_of(&handle)?, flags | OFlags::NOFOLLOW, Mode::empty())?;
    check_same(handle, &opened)?;
    Ok(opened)
}

/// Opens the very file that a handle is open for, to change its times.
pub(super) fn open_for_times(handle: impl AsFd) -> Result<File> {
    let opened = open_for(&path_of(&handle)?, Wanted::OwnTimes)?;
    check_same(handle, &opened)?;
    Ok(opened)
}

/// Returns the target of a symbolic link that a handle is open for, by its path, if that still names it.
///
/// # Errors
/// `AGAIN` if another file has the path by now, and those of [`readlinkat`](super::readlinkat).
pub fn read_link_of(handle: impl AsFd) -> Result<CString> {
    let path: &Path = &path_of(&handle)?;
    let target = std::fs::read_link(path)?;
    check_same(handle, open_for(path, Wanted::OwnMetadata)?)?;
    target_of(&target)
}

/// Locks a file, or releases its lock. While it is locked, other handles cannot read or write it.
///
/// # Errors
/// `WOULDBLOCK` if another handle has locked it.
pub fn flock(file: impl AsFd, operation: FlockOperation) -> Result<()> {
    let file = file.as_fd();
    let file = file.as_filelike_view::<File>();
    let tried = match operation {
        FlockOperation::LockShared => return Ok(file.lock_shared()?),
        FlockOperation::Unlock => return Ok(file.unlock()?),
        FlockOperation::NonBlockingLockShared => file.try_lock_shared(),
        FlockOperation::NonBlockingLockExclusive => file.try_lock(),
    };
    tried.map_err(|error| match error {
        TryLockError::WouldBlock => Errno::WOULDBLOCK,
        TryLockError::Error(error) => error.into(),
    })
}

/// Moves the position of a handle, and returns it.
///
/// # Errors
/// `INVAL` for data and holes, which are not looked for, and errors of the system.
pub fn seek(file: impl AsFd, to: SeekFrom) -> Result<u64> {
    let to = match to {
        SeekFrom::Start(offset) => std::io::SeekFrom::Start(offset),
        SeekFrom::End(offset) => std::io::SeekFrom::End(offset),
        SeekFrom::Data(_) | SeekFrom::Hole(_) => return Err(Errno::INVAL),
    };
    let file = file.as_fd();
    let file = file.as_filelike_view::<File>();
    Ok((&*file).seek(to)?)
}

/// Waits until a file is on the disk. Does nothing for a directory, which Windows does not write on request.
///
/// # Errors
/// `ACCESS` for a file that is not open for writing, and errors of the system.
pub fn fsync(file: impl AsFd) -> Result<()> {
    let file = file.as_fd();
    let file = file.as_filelike_view::<File>();
    if file.metadata()?.is_dir() {
        Ok(())
    } else {
        Ok(file.sync_all()?)
    }
}

/// Sets the size of a file.
///
/// # Errors
/// The error of the system.
pub fn ftruncate(file: impl AsFd, size: u64) -> Result<()> {
    let file = file.as_fd();
    Ok(file.as_filelike_view::<File>().set_len(size)?)
}

/// Sets permission bits: there are none.
///
/// # Errors
/// `NOTSUP`.
pub fn fchmod(_: impl AsFd, _: Mode) -> Result<()> {
    Err(Errno::NOTSUP)
}

/// Sets the owner: there is none.
///
/// # Errors
/// `NOTSUP`.
pub fn fchown(_: impl AsFd, _: Option<Uid>, _: Option<Gid>) -> Result<()> {
    Err(Errno::NOTSUP)
}

//! The rule of this module.

use std::fs::Metadata;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Stat, statat};
use rustix::io::Errno;
use rustix::path::Arg;

use super::error::{Fault, NotPrivate};
use crate::platform::mode;

/// Permission bits with which the group or others can write.
pub(super) const WRITABLE: u32 = 0o022;

/// Permission bits of the group and of others.
pub(super) const OTHERS: u32 = 0o077;

/// Permission bit with which everybody can write.
pub(super) const WORLD_WRITABLE: u32 = 0o002;

/// Permission bit of a directory in which nobody can rename what belongs to another user.
pub(super) const STICKY: u32 = 0o1000;

/// Returns whether the owner is the user of this process.
pub fn is_of_this_user(metadata: &Metadata) -> bool {
    metadata.uid() == this_user()
}

pub(super) fn this_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Checks a directory, whose entry is not followed.
pub(super) fn check_dir(path: &Path, stat: &Stat) -> Result<(), NotPrivate> {
    check_type(path, stat, FileType::Directory, Fault::NotADirectory)?;
    check_owner(path, stat)?;
    if mode(stat) & WRITABLE == 0 {
        Ok(())
    } else {
        let mode = mode(stat) & 0o7777;
        Err(NotPrivate::new(path, Fault::Writable { mode }))
    }
}

/// Checks that a file is a regular one of this user.
pub(super) fn check_own(path: &Path, stat: &Stat) -> Result<(), NotPrivate> {
    check_type(path, stat, FileType::RegularFile, Fault::NotAFile)?;
    check_owner(path, stat)
}

fn check_type(
    path: &Path,
    stat: &Stat,
    expected: FileType,
    otherwise: Fault,
) -> Result<(), NotPrivate> {
    let file_type = FileType::from_raw_mode(stat.st_mode);
    if file_type == expected {
        Ok(())
    } else if file_type == FileType::Symlink {
        Err(NotPrivate::new(path, Fault::Link))
    } else {
        Err(NotPrivate::new(path, otherwise))
    }
}

pub(super) fn check_file(path: &Path, stat: &Stat) -> Result<(), NotPrivate> {
    check_own(path, stat)?;
    if mode(stat) & OTHERS == 0 {
        Ok(())
    } else {
        let mode = mode(stat) & 0o7777;
        Err(NotPrivate::new(path, Fault::Readable { mode }))
    }
}

pub(super) fn check_owner(path: &Path, stat: &Stat) -> Result<(), NotPrivate> {
    let (owner, user) = (stat.st_uid, this_user());
    if owner == user {
        Ok(())
    } else {
        Err(NotPrivate::new(path, Fault::OtherOwner { owner, user }))
    }
}

/// Looks at an entry without following it. Returns `None` where it is missing.
pub(super) fn entry(dir: impl AsFd, name: impl Arg) -> Result<Option<Stat>, Errno> {
    match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

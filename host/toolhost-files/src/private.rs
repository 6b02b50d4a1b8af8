//! What only the user of this process may change.
//!
//! One rule holds for every directory and file that the host keeps for itself:
//!
//! - It belongs to the user of this process.
//! - Nobody else can write to a directory, and nobody else can read or write a file. What is made here has the mode
//!   0700 or 0600.
//! - It is not a symbolic link, except for a directory that an operator names: see [`PrivateDir::make`].
//! - Nobody else can exchange such a directory: everybody may write to a directory above it only if that is sticky, as
//!   `/tmp` is.

mod dir;
mod error;
mod file;
mod key;

pub use dir::PrivateDir;
pub use error::NotPrivate;
pub use file::PrivateFile;
pub use key::{read_key, read_or_make_key};

use std::fs::Metadata;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Stat, statat};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::platform::mode;
use error::Fault;

/// Permission bits with which the group or others can write.
const WRITABLE: u32 = 0o022;

/// Permission bits of the group and of others.
const OTHERS: u32 = 0o077;

/// Permission bit with which everybody can write.
const WORLD_WRITABLE: u32 = 0o002;

/// Permission bit of a directory in which nobody can rename what belongs to another user.
const STICKY: u32 = 0o1000;

/// Returns whether the owner is the user of this process.
#[must_use]
pub fn is_of_this_user(metadata: &Metadata) -> bool {
    metadata.uid() == this_user()
}

fn this_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Checks a directory, whose entry is not followed.
fn check_dir(path: &Path, stat: &Stat) -> Result<(), NotPrivate> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {}
        FileType::Symlink => return Err(NotPrivate::new(path, Fault::Link)),
        _ => return Err(NotPrivate::new(path, Fault::NotADirectory)),
    }
    check_owner(path, stat)?;
    if mode(stat) & WRITABLE == 0 {
        Ok(())
    } else {
        let mode = mode(stat) & 0o7777;
        Err(NotPrivate::new(path, Fault::Writable { mode }))
    }
}

/// Checks that a file is a regular one of this user.
fn check_own(path: &Path, stat: &Stat) -> Result<(), NotPrivate> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => check_owner(path, stat),
        FileType::Symlink => Err(NotPrivate::new(path, Fault::Link)),
        _ => Err(NotPrivate::new(path, Fault::NotAFile)),
    }
}

fn check_file(path: &Path, stat: &Stat) -> Result<(), NotPrivate> {
    check_own(path, stat)?;
    if mode(stat) & OTHERS == 0 {
        Ok(())
    } else {
        let mode = mode(stat) & 0o7777;
        Err(NotPrivate::new(path, Fault::Readable { mode }))
    }
}

fn check_owner(path: &Path, stat: &Stat) -> Result<(), NotPrivate> {
    let (owner, user) = (stat.st_uid, this_user());
    if owner == user {
        Ok(())
    } else {
        Err(NotPrivate::new(path, Fault::OtherOwner { owner, user }))
    }
}

/// Looks at an entry without following it. Returns `None` where it is missing.
fn entry(dir: impl AsFd, name: impl Arg) -> Result<Option<Stat>, Errno> {
    match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;

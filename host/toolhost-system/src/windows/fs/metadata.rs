//! Metadata with the identity of the file, which the standard library's has not.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::windows::fs::MetadataExt as _;
use std::path::Path;

use super::open::{Wanted, open_for};
use super::stat::{fstat, mode_of, unix_time};
use crate::windows::process::geteuid;

/// The metadata of a file, with its identity.
#[derive(Debug, Clone)]
pub struct Metadata {
    found: std::fs::Metadata,
    device: u64,
    inode: u64,
    links: u64,
}

/// Returns the identity of a file: the serial number of its volume and its index there.
#[must_use]
pub fn identity(found: &Metadata) -> (u64, u64) {
    (found.device, found.inode)
}

/// Returns how many names a file has.
#[must_use]
pub fn links(found: &Metadata) -> u64 {
    found.links
}

impl Deref for Metadata {
    type Target = std::fs::Metadata;

    fn deref(&self) -> &std::fs::Metadata {
        &self.found
    }
}

/// Returns the metadata of an open file.
///
/// # Errors
/// The error of the system.
pub fn metadata_of(file: &File) -> io::Result<Metadata> {
    let stat = fstat(file)?;
    Ok(Metadata {
        found: file.metadata()?,
        device: stat.st_dev,
        inode: stat.st_ino,
        links: stat.st_nlink,
    })
}

/// Returns the metadata of what a path leads to.
///
/// # Errors
/// The error of the system.
pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    metadata_of(&open_for(path.as_ref(), Wanted::Metadata)?)
}

/// Returns the metadata of what is at a path, even if it is a link.
///
/// # Errors
/// The error of the system.
pub fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    metadata_of(&open_for(path.as_ref(), Wanted::OwnMetadata)?)
}

/// What metadata has on Unix, apart from the identity of the file: that is in [`Metadata`] alone.
pub trait MetadataExt {
    /// Returns the owner: the user of this process.
    fn uid(&self) -> u32;

    /// Returns the type, and the bits of a file that its owner alone may read and write.
    fn mode(&self) -> u32;

    /// Returns the size in bytes.
    fn size(&self) -> u64;

    /// Returns when the content was last changed, in seconds since 1970.
    fn mtime(&self) -> i64;

    /// Returns the nanoseconds of [`mtime`](Self::mtime).
    fn mtime_nsec(&self) -> i64;

    /// Returns the same as [`mtime`](Self::mtime).
    fn ctime(&self) -> i64;

    /// Returns the same as [`mtime_nsec`](Self::mtime_nsec).
    fn ctime_nsec(&self) -> i64;
}

impl MetadataExt for std::fs::Metadata {
    fn uid(&self) -> u32 {
        geteuid().as_raw()
    }

    fn mode(&self) -> u32 {
        mode_of(self)
    }

    fn size(&self) -> u64 {
        self.len()
    }

    fn mtime(&self) -> i64 {
        unix_time(self.last_write_time()).0
    }

    fn mtime_nsec(&self) -> i64 {
        unix_time(self.last_write_time()).1
    }

    fn ctime(&self) -> i64 {
        self.mtime()
    }

    fn ctime_nsec(&self) -> i64 {
        self.mtime_nsec()
    }
}

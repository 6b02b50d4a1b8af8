//! What a file of the workdir was like when a transaction saw it.

use cap_primitives::fs::MetadataExt;
use cap_std::fs::Metadata;
use rustix::fs::{FileType, Stat};
use serde::{Deserialize, Serialize};
use toolhost_contract::FileId;

use crate::platform::{device, nanoseconds};
use crate::workdir::identity::file_id;

/// Identity, size and times of a file, directory or link, without following it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Which file it is.
    pub(crate) id: FileId,
    /// What it is.
    pub(crate) kind: FileKind,
    /// Bytes.
    pub(crate) size: u64,
    /// When its content was changed: seconds and nanoseconds since 1970.
    pub(crate) mtime: (i64, i64),
    /// When its content, its attributes or its name were changed.
    pub(crate) ctime: (i64, i64),
}

/// The kinds of files that a commit tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

impl Stamp {
    /// Whether it is the same file with the same content. Unlike equality, this ignores when its attributes or
    /// its name were changed, and of a directory compares only which one it is.
    pub(super) fn is_same_content(&self, other: &Self) -> bool {
        let is_same_file = self.id == other.id && self.kind == other.kind;
        is_same_file
            && (self.kind == FileKind::Dir || (self.size, self.mtime) == (other.size, other.mtime))
    }

    /// Whether nothing about the file has changed. Of a directory, only which one it is counts: another call
    /// may make other files in it.
    pub(super) fn is_unchanged(&self, now: &Self) -> bool {
        match self.kind {
            FileKind::Dir => self.is_same_content(now),
            FileKind::File | FileKind::Link | FileKind::Other => self == now,
        }
    }

    /// Returns the stamp of what the metadata describes.
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let kind = match metadata.file_type() {
            kind if kind.is_file() => FileKind::File,
            kind if kind.is_dir() => FileKind::Dir,
            kind if kind.is_symlink() => FileKind::Link,
            _ => FileKind::Other,
        };
        Self {
            id: file_id(metadata),
            kind,
            size: metadata.size(),
            mtime: (metadata.mtime(), metadata.mtime_nsec()),
            ctime: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Returns the stamp of what the system describes.
pub(crate) fn of_stat(found: &Stat) -> Stamp {
    let kind = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Dir,
        FileType::Symlink => FileKind::Link,
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => FileKind::Other,
    };
    Stamp {
        id: FileId {
            device: device(found),
            inode: found.st_ino,
        },
        kind,
        size: u64::try_from(found.st_size).unwrap_or_default(),
        mtime: (found.st_mtime, nanoseconds(found.st_mtime_nsec)),
        ctime: (found.st_ctime, nanoseconds(found.st_ctime_nsec)),
    }
}

#[cfg(test)]
mod tests;

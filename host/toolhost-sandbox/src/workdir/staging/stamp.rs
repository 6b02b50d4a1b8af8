//! What a file of the workdir was like when a transaction saw it.

use cap_std::fs::{Metadata, MetadataExt};
use serde::{Deserialize, Serialize};
use toolhost_contract::FileId;

use crate::workdir::file_id;

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

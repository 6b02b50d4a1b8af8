//! What a folder of a bundle holds.

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use toolhost_files::EntryKind as Kind;

/// The kind of an entry of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, which is not followed.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

impl From<Kind> for EntryKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::File => Self::File,
            Kind::Directory => Self::Folder,
            Kind::Link => Self::Link,
            Kind::Pipe | Kind::Socket | Kind::Device => Self::Other,
        }
    }
}

/// The SHA-256 digest of a file.
pub(crate) type Digest = [u8; 32];

pub(crate) fn digest(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

//! The folder of a bundle, opened by handle. Links in it are not followed.

use std::io::{self, Read};
use std::path::Path;

use cap_primitives::fs::OpenOptionsExt;
use cap_std::fs::{Dir, FileType, OpenOptions};
use rustix::fs::OFlags;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::error::ChangesetError;
use crate::limits::{ENTRIES_MAX, FILE_BYTES_MAX};

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

impl Entry {
    pub(crate) fn new(name: impl Into<String>, kind: EntryKind) -> Self {
        let name = name.into();
        Self { name, kind }
    }
}

/// The folder of a bundle.
#[derive(Debug)]
pub(crate) struct Folder(Dir);

impl Folder {
    pub(crate) fn new(dir: Dir) -> Self {
        Self(dir)
    }

    /// Returns what lies at a path; none if there is nothing. No folder on the path may be a link.
    pub(crate) fn kind(&self, path: &str) -> Result<Option<EntryKind>, ChangesetError> {
        let mut above = String::new();
        let mut kind = EntryKind::Folder;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            match kind {
                EntryKind::Folder => {}
                EntryKind::Link => return Err(unfit(&above, EntryKind::Link)),
                EntryKind::File | EntryKind::Other => return Ok(None),
            }
            if !above.is_empty() {
                above.push('/');
            }
            above.push_str(name);
            match self.0.symlink_metadata(&above) {
                Ok(found) => kind = kind_of(found.file_type()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(ChangesetError::io(above)(error)),
            }
        }
        Ok(Some(kind))
    }

    /// Reads a regular file; none if there is nothing at the path.
    pub(crate) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, ChangesetError> {
        match self.kind(path)? {
            None => return Ok(None),
            Some(EntryKind::File) => {}
            Some(kind) => return Err(unfit(path, kind)),
        }
        let mut options = OpenOptions::new();
        // If something else has taken its place since, it is neither followed nor waited for.
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
        options.read(true).custom_flags(flags.bits().cast_signed());
        let file = match self.0.open_with(path, &options) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(ChangesetError::io(path))?,
        };
        let found = file.metadata().map_err(ChangesetError::io(path))?;
        if !found.is_file() {
            return Err(unfit(path, kind_of(found.file_type())));
        }
        let mut bytes = Vec::new();
        let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(ChangesetError::io(path))?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(ChangesetError::TooLarge {
                path: path.to_owned(),
            });
        }
        Ok(Some(bytes))
    }

    /// Returns the digest of a regular file; none if there is nothing at the path.
    pub(crate) fn digest(&self, path: &str) -> Result<Option<Digest>, ChangesetError> {
        Ok(self.read(path)?.map(|bytes| digest(&bytes)))
    }

    /// Lists a folder; none if there is nothing at the path.
    pub(crate) fn list(&self, path: &str) -> Result<Option<Vec<Entry>>, ChangesetError> {
        match self.kind(path)? {
            None => return Ok(None),
            Some(EntryKind::Folder) => {}
            Some(kind) => return Err(unfit(path, kind)),
        }
        let top = if path.is_empty() { "." } else { path };
        let failed = || ChangesetError::io(top);
        let mut entries = Vec::new();
        for entry in self.0.read_dir(Path::new(top)).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            // A name that is not UTF-8 cannot be named in a changeset.
            if let Ok(name) = entry.file_name().into_string() {
                let kind = entry.file_type().map_err(failed())?;
                entries.push(Entry::new(name, kind_of(kind)));
            }
            if entries.len() == ENTRIES_MAX {
                break;
            }
        }
        Ok(Some(entries))
    }
}

/// The SHA-256 digest of a file.
pub(crate) type Digest = [u8; 32];

pub(crate) fn digest(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

pub(crate) fn unfit(path: &str, kind: EntryKind) -> ChangesetError {
    ChangesetError::Unfit {
        path: path.to_owned(),
        found: match kind {
            EntryKind::File => "a file",
            EntryKind::Folder => "a folder",
            EntryKind::Link => "a symbolic link",
            EntryKind::Other => "not a regular file",
        },
    }
}

fn kind_of(kind: FileType) -> EntryKind {
    if kind.is_file() {
        EntryKind::File
    } else if kind.is_dir() {
        EntryKind::Folder
    } else if kind.is_symlink() {
        EntryKind::Link
    } else {
        EntryKind::Other
    }
}

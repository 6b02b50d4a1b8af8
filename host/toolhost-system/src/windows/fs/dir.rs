//! Listings of directories.

use std::ffi::{CStr, CString};
use std::fs::ReadDir;

use super::handle::path_of;
use super::stat::FileType;
use crate::windows::fd::AsFd;
use crate::windows::io::{Errno, Result};

/// The entries of a directory, without `.` and `..`.
#[derive(Debug)]
pub struct Dir(ReadDir);

/// An entry of a directory.
#[derive(Debug, Clone)]
pub struct DirEntry {
    name: CString,
    kind: FileType,
}

impl Dir {
    /// Lists the directory that a handle is open for.
    ///
    /// # Errors
    /// The error of the system.
    pub fn new(dir: impl AsFd) -> Result<Self> {
        Self::read_from(dir)
    }

    /// Lists the directory that a handle is open for.
    ///
    /// # Errors
    /// The error of the system.
    pub fn read_from(dir: impl AsFd) -> Result<Self> {
        Ok(Self(std::fs::read_dir(path_of(dir)?)?))
    }
}

impl Iterator for Dir {
    type Item = Result<DirEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.0.next()?;
        Some(entry.map_err(Errno::from).and_then(|entry| {
            let name = entry.file_name().into_string().map_err(|_| Errno::ILSEQ)?;
            let found = entry.file_type()?;
            let kind = if found.is_symlink() {
                FileType::Symlink
            } else if found.is_dir() {
                FileType::Directory
            } else if found.is_file() {
                FileType::RegularFile
            } else {
                FileType::Unknown
            };
            let name = CString::new(name).map_err(|_| Errno::INVAL)?;
            Ok(DirEntry { name, kind })
        }))
    }
}

impl DirEntry {
    /// Returns its name.
    #[must_use]
    pub fn file_name(&self) -> &CStr {
        &self.name
    }

    /// Returns its type.
    #[must_use]
    pub const fn file_type(&self) -> FileType {
        self.kind
    }
}

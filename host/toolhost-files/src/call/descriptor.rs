//! The handles of open files and directories.

use std::io;
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};
use rustix::io::Errno;
use toolhost_contract::FileId;

use super::budget::OpenSlot;
use super::file::{OpenFile, Synced};
use crate::workdir::{FileResult, id_of};

/// An open file or directory.
pub enum Descriptor {
    /// A regular file.
    File(Arc<OpenFile>),
    /// A directory. The handle of the workdir itself takes no slot.
    Dir {
        /// Its handle.
        dir: Arc<Dir>,
        /// Its part of the limit of open descriptors.
        _slot: Option<OpenSlot>,
    },
}

impl Descriptor {
    /// Returns the file.
    ///
    /// # Errors
    /// `EISDIR` for a directory.
    pub fn file(&self) -> FileResult<&Arc<OpenFile>> {
        match self {
            Self::File(file) => Ok(file),
            Self::Dir { .. } => Err(Errno::ISDIR.into()),
        }
    }

    /// Returns the file if it was opened for reading.
    pub fn file_to_read(&self) -> FileResult<&Arc<OpenFile>> {
        let file = self.file()?;
        file.access.read.then_some(file).ok_or(Errno::BADF.into())
    }

    /// Returns the file if it was opened for writing.
    pub fn file_to_write(&self) -> FileResult<&Arc<OpenFile>> {
        let file = self.file()?;
        file.access.write.then_some(file).ok_or(Errno::BADF.into())
    }

    /// Returns the directory.
    ///
    /// # Errors
    /// `ENOTDIR` for a file.
    pub fn dir(&self) -> FileResult<&Dir> {
        match self {
            Self::Dir { dir, .. } => Ok(dir),
            Self::File(_) => Err(Errno::NOTDIR.into()),
        }
    }

    /// Reads its metadata.
    ///
    /// # Errors
    /// Those of the system.
    pub fn metadata(&self) -> io::Result<Metadata> {
        match self {
            Self::File(file) => file.metadata(),
            Self::Dir { dir, .. } => dir.dir_metadata(),
        }
    }

    /// Returns the identity by which the guest knows it.
    pub fn identity(&self) -> FileResult<FileId> {
        match self {
            Self::File(file) => Ok(file.id),
            Self::Dir { dir, .. } => Ok(id_of(dir)?),
        }
    }

    /// Returns what waits until the data that was written is on the disk, for another thread.
    pub fn sync(&self, what: Synced) -> Box<dyn FnOnce() -> io::Result<()> + Send> {
        match self {
            Self::File(file) => {
                let file = Arc::clone(file);
                Box::new(move || file.sync(what))
            }
            Self::Dir { dir, .. } => {
                let dir = Arc::clone(dir);
                // Through a new handle, as it may be opened with `O_PATH`.
                Box::new(move || Ok(rustix::fs::fsync(&dir.open(".")?)?))
            }
        }
    }
}

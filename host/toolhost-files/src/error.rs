//! What lies at a path, and why it cannot be read.

use std::path::PathBuf;
use std::{fmt, io};

use rustix::fs::{FileType, Stat};

/// What an entry of a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum EntryKind {
    File,
    Directory,
    Link,
    Pipe,
    Socket,
    Device,
}

impl EntryKind {
    /// Returns the kind of an entry that was not followed.
    pub fn of(stat: &Stat) -> Self {
        Self::from(FileType::from_raw_mode(stat.st_mode))
    }
}

impl From<FileType> for EntryKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => Self::Device,
        }
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Link => "a symbolic link",
            Self::Pipe => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
        })
    }
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file does not exist.
    #[error("there is no such file or directory")]
    NotFound,
    /// The host has no permission.
    #[error("permission denied")]
    Denied,
    /// The path leads out of the directory.
    #[error("the path leaves the directory")]
    Outside,
    /// The path has a symbolic link, and links are refused.
    #[error("{} is a symbolic link, which is not followed", .path.display())]
    Link {
        /// The path of the link.
        path: PathBuf,
    },
    /// The path ends at a link that leads nowhere.
    #[error("it is a link to a file that does not exist")]
    Dangling,
    /// The file is a directory, a named pipe, a socket or a device.
    #[error("it is {kind}, not a regular file")]
    NotAFile {
        /// What it is.
        kind: EntryKind,
    },
    /// The file is too large.
    #[error("it is larger than {max} bytes")]
    TooLarge {
        /// Maximum size, in bytes.
        max: u64,
        /// Its size, in bytes, as far as it is known.
        bytes: u64,
    },
    /// The path has too many components and links.
    #[error("its path has too many folders and links")]
    TooFar,
    /// Another error of the system.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        let kind = error.kind();
        // If a path leaves the directory, cap-std's error has no number, and the kernel's is EXDEV.
        let is_of_system = error.raw_os_error().is_some();
        if matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            Self::NotFound
        } else if kind == io::ErrorKind::PermissionDenied && is_of_system {
            Self::Denied
        } else if matches!(
            kind,
            io::ErrorKind::PermissionDenied | io::ErrorKind::CrossesDevices
        ) {
            Self::Outside
        } else {
            Self::Io(error)
        }
    }
}

impl From<rustix::io::Errno> for ReadError {
    fn from(error: rustix::io::Errno) -> Self {
        io::Error::from(error).into()
    }
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => error,
            ReadError::NotFound => Self::new(io::ErrorKind::NotFound, error),
            ReadError::Denied => Self::new(io::ErrorKind::PermissionDenied, error),
            ReadError::Outside
            | ReadError::Link { .. }
            | ReadError::Dangling
            | ReadError::NotAFile { .. }
            | ReadError::TooLarge { .. }
            | ReadError::TooFar => Self::other(error),
        }
    }
}

//! Why an operation on files failed.

use std::io;

use rustix::io::Errno;

/// Why an operation on files failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileError {
    /// The system's error number, or the one that the kernel returns for such an operation.
    Errno(Errno),
    /// The path leads out of the directory at which it starts, or into a file system of the kernel.
    Outside,
}

/// The result of an operation on files.
pub type FileResult<T> = Result<T, FileError>;

impl FileError {
    /// The error number; `EPERM` where a path leads outside.
    #[must_use]
    pub fn errno(self) -> Errno {
        match self {
            Self::Errno(errno) => errno,
            Self::Outside => Errno::PERM,
        }
    }
}

impl From<Errno> for FileError {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Self::Errno(errno_of(&error))
    }
}

/// Converts an error of cap-std's path resolution, which has no error number where a path leads out of the
/// directory.
pub(super) fn of_resolution(error: &io::Error) -> FileError {
    let has_errno = Errno::from_io_error(error).is_some();
    if error.kind() == io::ErrorKind::PermissionDenied && !has_errno {
        FileError::Outside
    } else {
        FileError::Errno(errno_of(error))
    }
}

/// Returns the error number of a host error; cap-std's own errors have a kind instead.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the standard library's enum, which grows"
)]
pub fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or_else(|| match error.kind() {
        io::ErrorKind::NotFound => Errno::NOENT,
        // The path leaves the workdir.
        io::ErrorKind::PermissionDenied => Errno::PERM,
        io::ErrorKind::AlreadyExists => Errno::EXIST,
        io::ErrorKind::InvalidInput => Errno::INVAL,
        io::ErrorKind::NotADirectory => Errno::NOTDIR,
        io::ErrorKind::IsADirectory => Errno::ISDIR,
        io::ErrorKind::Unsupported => Errno::NOTSUP,
        _ => Errno::IO,
    })
}

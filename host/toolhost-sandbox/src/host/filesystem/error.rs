//! Why a file operation failed, as an error number.

use std::io;

use rustix::io::Errno;
use wasmtime::component::ResourceTableError;

use crate::workdir::OverlayError;

/// Why a file operation failed.
#[derive(Debug)]
#[expect(
    unreachable_pub,
    reason = "newer compilers refuse a private type in the traits that bindings generate"
)]
pub enum FsError {
    /// The guest gets the WASI code of this error number, and nothing else of the host's error.
    Errno(Errno),
    /// The path leads out of the workdir.
    Outside,
    /// The operation on this path failed.
    OfPath(Box<FsError>, Box<str>),
    /// The call ends.
    Trap(wasmtime::Error),
}

pub(crate) type FsResult<T> = Result<T, FsError>;

impl FsError {
    /// Adds the path of the operation.
    pub(super) fn of_path(self, path: impl Into<Box<str>>) -> Self {
        Self::OfPath(Box::new(self), path.into())
    }

    /// The error number that the guest gets. None if the call ends.
    pub(super) fn errno(&self) -> Option<Errno> {
        match self {
            Self::Errno(errno) => Some(*errno),
            Self::Outside => Some(Errno::PERM),
            Self::OfPath(error, _) => error.errno(),
            Self::Trap(_) => None,
        }
    }
}

impl From<Errno> for FsError {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl From<OverlayError> for FsError {
    fn from(error: OverlayError) -> Self {
        match error {
            OverlayError::Errno(errno) => Self::Errno(errno),
            OverlayError::Outside => Self::Outside,
        }
    }
}

impl From<io::Error> for FsError {
    fn from(error: io::Error) -> Self {
        Self::Errno(errno_of(&error))
    }
}

/// Converts an error of cap-std's path resolution, which has no error number where a path leads out of the
/// directory.
pub(super) fn of_resolution(error: &io::Error) -> FsError {
    let has_errno = Errno::from_io_error(error).is_some();
    if error.kind() == io::ErrorKind::PermissionDenied && !has_errno {
        FsError::Outside
    } else {
        FsError::Errno(errno_of(error))
    }
}

impl From<ResourceTableError> for FsError {
    fn from(error: ResourceTableError) -> Self {
        Self::Trap(error.into())
    }
}

/// Returns the error number of a host error; cap-std's own errors have a kind instead.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the standard library's enum, which grows"
)]
pub(super) fn errno_of(error: &io::Error) -> Errno {
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

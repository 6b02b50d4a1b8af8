//! Why a file operation failed, as an error number.

use std::io;

use rustix::io::Errno;
use wasmtime::component::ResourceTableError;

/// Why a file operation failed.
#[derive(Debug)]
pub(crate) enum FsError {
    /// The guest gets the WASI code of this error number, and nothing else of the host's error.
    Errno(Errno),
    /// The call ends.
    Trap(wasmtime::Error),
}

pub(crate) type FsResult<T> = Result<T, FsError>;

impl From<Errno> for FsError {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl From<io::Error> for FsError {
    fn from(error: io::Error) -> Self {
        Self::Errno(errno_of(&error))
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

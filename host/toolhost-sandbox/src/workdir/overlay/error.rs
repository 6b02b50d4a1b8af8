//! Why an operation on the merged view failed.

use std::io;

use rustix::io::Errno;

/// Why an operation on the merged view failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverlayError {
    /// The system's error number, or the one that the kernel returns for such an operation.
    Errno(Errno),
    /// The path leads out of the directory at which it starts, or into a file system of the kernel.
    Outside,
}

impl OverlayError {
    /// The error number; `EPERM` where a path leads outside.
    pub(super) fn errno(self) -> Errno {
        match self {
            Self::Errno(errno) => errno,
            Self::Outside => Errno::PERM,
        }
    }
}

impl From<Errno> for OverlayError {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl From<io::Error> for OverlayError {
    fn from(error: io::Error) -> Self {
        Self::Errno(errno_of(&error))
    }
}

pub(super) fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

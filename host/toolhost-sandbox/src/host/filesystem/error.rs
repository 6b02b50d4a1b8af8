//! Why a file operation of a guest failed.

use std::io;

use rustix::io::Errno;
use toolhost_files::FileError;
use wasmtime::component::ResourceTableError;

/// Why a file operation of a guest failed.
#[derive(Debug)]
#[expect(
    unreachable_pub,
    reason = "newer compilers refuse a private type in the traits that bindings generate"
)]
pub enum FsError {
    /// The guest gets the WASI code of an error number, and nothing else of the host's error.
    Failed {
        error: FileError,
        /// The path of the operation.
        path: Option<Box<str>>,
    },
    /// The call ends.
    Trap(wasmtime::Error),
}

pub(crate) type FsResult<T> = Result<T, FsError>;

impl FsError {
    /// Adds the path of the operation.
    pub(super) fn of_path(self, of: impl Into<Box<str>>) -> Self {
        match self {
            Self::Failed { error, .. } => Self::Failed {
                error,
                path: Some(of.into()),
            },
            Self::Trap(_) => self,
        }
    }
}

impl From<FileError> for FsError {
    fn from(error: FileError) -> Self {
        Self::Failed { error, path: None }
    }
}

impl From<Errno> for FsError {
    fn from(errno: Errno) -> Self {
        FileError::from(errno).into()
    }
}

impl From<io::Error> for FsError {
    fn from(error: io::Error) -> Self {
        FileError::from(error).into()
    }
}

impl From<ResourceTableError> for FsError {
    fn from(error: ResourceTableError) -> Self {
        Self::Trap(error.into())
    }
}

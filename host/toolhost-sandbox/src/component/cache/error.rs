//! Errors of the cache.

use std::io;
use std::path::PathBuf;

/// Why a cache cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// A file or directory cannot be made or read.
    #[error("{}: {source}", .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others could write it.
    #[error("{} belongs to another user or is writable by others", .0.display())]
    NotPrivate(PathBuf),
    /// The key is invalid.
    #[error("{} is not a key of 32 bytes; delete it to make a new one", .0.display())]
    BadKey(PathBuf),
}

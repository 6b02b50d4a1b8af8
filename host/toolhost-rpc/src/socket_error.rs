//! Why a Unix socket could not be opened.

use std::io;
use std::path::PathBuf;

/// Why a socket could not be opened.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are in the messages")]
pub enum SocketError {
    /// Another server listens there.
    #[error("another server listens on {}", .path.display())]
    InUse { path: PathBuf },
    /// The path exists, and is not a socket of this user.
    #[error("{} exists, and is not a socket of this user", .path.display())]
    NotOurs { path: PathBuf },
    /// The directory stays locked by another process.
    #[error("the directory {} is locked by another process", .dir.display())]
    Locked { dir: PathBuf },
    /// The socket cannot be created.
    #[error("the socket {} cannot be created", .path.display())]
    Create {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

//! The last operation that failed in the host during a call. A guest's error often leaves out its path, its
//! server or its cause.

use std::io;

use crate::text::printable;

/// Longest path or origin that is kept, in bytes.
const TEXT_MAX: usize = 512;

/// An operation that failed in the host.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailedOperation {
    /// An operation on a path of the workdir.
    File {
        /// The path as the guest passed it, escaped, at most 512 bytes.
        path: String,
        /// Why it failed.
        kind: io::ErrorKind,
    },
    /// An HTTP request that was granted and got no response.
    Http {
        /// The server, such as `https://api.example.com`.
        origin: String,
        /// Why it failed, such as `the connection was refused`.
        cause: String,
    },
}

impl FailedOperation {
    /// Returns a failed operation on a path, which is escaped and cut.
    pub fn file(path: &str, kind: io::ErrorKind) -> Self {
        Self::File {
            path: printable(path, TEXT_MAX),
            kind,
        }
    }

    /// Returns a failed request to a server.
    pub fn http(origin: &str, cause: String) -> Self {
        Self::Http {
            origin: printable(origin, TEXT_MAX),
            cause,
        }
    }
}

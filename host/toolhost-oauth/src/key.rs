//! The key that encrypts what is stored.

use std::io;
use std::path::PathBuf;

use toolhost_files::read_or_make_key;
use zeroize::Zeroizing;

/// Returns the key that encrypts sessions and grants. Called once, when [`OAuth`](crate::OAuth) opens.
pub trait OAuthKey: Send + Sync {
    /// Returns 32 bytes that are random, and the same each time.
    ///
    /// # Errors
    /// Where the key cannot be read or made.
    fn key(&self) -> io::Result<Zeroizing<[u8; 32]>>;
}

/// The key in a file that only this user can read (mode 0600). It is made where it is missing, in a directory
/// that must exist. Links are not followed.
#[derive(Debug, Clone)]
pub struct OAuthKeyFile {
    path: PathBuf,
}

impl OAuthKeyFile {
    /// Keeps the key in this file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl OAuthKey for OAuthKeyFile {
    fn key(&self) -> io::Result<Zeroizing<[u8; 32]>> {
        read_or_make_key(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_file_that_others_can_read_a_link_and_a_short_file_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = OAuthKeyFile::new(dir.path().join("oauth.key"));
        file.key().unwrap();
        fs::set_permissions(&file.path, fs::Permissions::from_mode(0o640)).unwrap();
        let refused = file.key().unwrap_err().to_string();
        assert!(refused.contains("chmod go-rwx"), "{refused}");
        let target = dir.path().join("target");
        fs::rename(&file.path, &target).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&target, &file.path).unwrap();
        assert!(file.key().unwrap_err().to_string().contains("link"));
        fs::remove_file(&file.path).unwrap();
        fs::write(&target, "short").unwrap();
        let short = OAuthKeyFile::new(target).key().unwrap_err();
        assert_eq!(short.kind(), io::ErrorKind::InvalidData);
    }
}

//! The key that encrypts what is stored.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::private_file;

/// Bytes of a key.
const KEY_LEN: usize = 32;

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
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Writes a key under a temporary name and renames it, unless another process was first.
    fn make(&self) -> io::Result<()> {
        let mut fresh = Zeroizing::new([0; KEY_LEN]);
        getrandom::fill(&mut *fresh).map_err(|error| io::Error::other(error.to_string()))?;
        let dir = self.path.parent().filter(|dir| *dir != Path::new(""));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".").suffix(".tmp");
        builder.permissions(std::fs::Permissions::from_mode(0o600));
        let mut file = builder.tempfile_in(dir.unwrap_or(Path::new(".")))?;
        file.write_all(&*fresh)?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(&self.path) {
            Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

impl OAuthKey for OAuthKeyFile {
    fn key(&self) -> io::Result<Zeroizing<[u8; 32]>> {
        match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.make()?,
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        let mut file = private_file::open(&self.path)?;
        let mut key = Zeroizing::new([0; KEY_LEN]);
        if file.metadata()?.len() != KEY_LEN as u64 {
            let text = format!(
                "{} is not a key of {KEY_LEN} bytes: name another key file",
                self.path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        file.read_exact(&mut *key)?;
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_key_file_is_made_once_and_only_this_user_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = OAuthKeyFile::new(dir.path().join("oauth.key"));
        let first = file.key().unwrap();
        assert_ne!(*first, [0; KEY_LEN]);
        assert_eq!(*file.key().unwrap(), *first);
        let mode = fs::metadata(&file.path).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn processes_that_make_a_key_at_once_agree_on_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = OAuthKeyFile::new(dir.path().join("oauth.key"));
        let keys: Vec<_> = std::thread::scope(|scope| {
            let make = |_| scope.spawn(|| file.key().unwrap());
            let threads: Vec<_> = (0..8).map(make).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| **key == *keys[0]));
    }

    #[test]
    fn a_key_file_that_others_can_read_a_link_and_a_short_file_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = OAuthKeyFile::new(dir.path().join("oauth.key"));
        file.key().unwrap();
        fs::set_permissions(&file.path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(file.key().unwrap_err().to_string().contains("chmod 600"));
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

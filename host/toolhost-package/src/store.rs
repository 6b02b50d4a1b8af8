//! Directories of blobs by digest: the cache of pulled packages, and `vendor` beside a bundle.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use toolhost_files::{Links, ReadError, read_named};
use toolhost_manifest::bundle::package::is_digest;

use crate::registry::digest_of;

/// The extension of files of signatures.
const SIGNATURES: &str = "jsonl";

/// Most bytes of a file of signatures.
const SIGNATURES_MAX: u64 = 32 << 20;

/// Files named `sha256-HEX`. Each is compared with its name whenever it is read, and replaced by a rename, so that
/// several processes may share the directory. Beside a manifest, `sha256-HEX.jsonl` has its signatures, one in each
/// line.
#[derive(Debug, Clone)]
pub struct PackageStore {
    dir: PathBuf,
}

/// Why a blob could not be read or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are in the messages")]
pub enum StoreError {
    /// A file cannot be read or written.
    #[error("{} cannot be used", .path.display())]
    Io {
        /// The file or the directory.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file has other bytes than its name says.
    #[error("{} has other bytes than its name says: they have {actual}", .path.display())]
    Changed {
        path: PathBuf,
        /// The digest of its bytes.
        actual: String,
    },
    /// The file is too large.
    #[error("{} is larger than {max} bytes", .path.display())]
    TooLarge { path: PathBuf, max: u64 },
    /// The name is not a SHA-256 digest.
    #[error("'{0}' is not a digest: sha256: and 64 hexadecimal digits")]
    Digest(String),
}

impl PackageStore {
    /// Keeps blobs in a directory, which is made when the first is kept.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Returns the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the name of the file of a digest.
    pub fn file_name(digest: &str) -> Option<String> {
        is_digest(digest).then(|| digest.replacen(':', "-", 1))
    }

    /// Reads a blob of at most `max` bytes; none if it is not kept.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Changed`] if the file has other bytes.
    pub fn read(&self, expected: &str, max: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(expected)?;
        let Some(bytes) = read_file(&path, max)? else {
            return Ok(None);
        };
        let actual = digest_of(&bytes);
        if actual != expected {
            return Err(StoreError::Changed { path, actual });
        }
        Ok(Some(bytes))
    }

    /// Keeps a blob under its digest, which it returns. A file with other bytes under that name is replaced.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn keep(&self, bytes: &[u8]) -> Result<String, StoreError> {
        let digest = digest_of(bytes);
        if let Ok(Some(_)) = self.read(&digest, bytes.len() as u64) {
            return Ok(digest);
        }
        let path = self.path(&digest)?;
        self.write(&path, bytes)?;
        Ok(digest)
    }

    /// Reads the signatures that are kept of a manifest: Sigstore bundles as JSON. Nothing of them is verified.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn signatures(&self, digest: &str) -> Result<Vec<String>, StoreError> {
        let path = self.path(digest)?.with_extension(SIGNATURES);
        let Some(bytes) = read_file(&path, SIGNATURES_MAX)? else {
            return Ok(Vec::new());
        };
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Keeps signatures of a manifest, in the place of those that are kept.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn keep_signatures(&self, digest: &str, bundles: &[String]) -> Result<(), StoreError> {
        let path = self.path(digest)?.with_extension(SIGNATURES);
        let mut text = bundles.join("\n");
        text.push('\n');
        self.write(&path, text.as_bytes())
    }

    fn path(&self, digest: &str) -> Result<PathBuf, StoreError> {
        if fs::symlink_metadata(&self.dir).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(StoreError::Io {
                path: self.dir.clone(),
                source: io::Error::other("it is a symbolic link"),
            });
        }
        let name = Self::file_name(digest)
            .ok_or_else(|| StoreError::Digest(toolhost_contract::text::shorten(digest, 100)))?;
        Ok(self.dir.join(name))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let failed = |source| StoreError::Io {
            path: path.to_owned(),
            source,
        };
        fs::create_dir_all(&self.dir).map_err(failed)?;
        let mut file = tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(&self.dir)
            .map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
        let persisted = file.persist(path);
        persisted.map_err(|error| failed(error.error))?;
        Ok(())
    }
}

/// Reads a file of at most `max` bytes; none if there is no file.
fn read_file(path: &Path, max: u64) -> Result<Option<Vec<u8>>, StoreError> {
    match read_named(path, Links::Refuse, max) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ReadError::NotFound) => Ok(None),
        Err(ReadError::TooLarge { .. }) => Err(StoreError::TooLarge {
            path: path.to_owned(),
            max,
        }),
        Err(error) => Err(StoreError::Io {
            path: path.to_owned(),
            source: error.into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_were_changed_in_the_store_are_not_returned() {
        let dir = tempfile::tempdir().unwrap();
        let store = PackageStore::new(dir.path().join("packages"));
        let digest = store.keep(b"component").unwrap();
        assert_eq!(store.read(&digest, 9).unwrap().unwrap(), b"component");
        assert!(matches!(
            store.read(&digest, 8),
            Err(StoreError::TooLarge { .. })
        ));
        let file = store.dir().join(digest.replace(':', "-"));
        fs::write(&file, b"c0mponent").unwrap();
        assert!(matches!(
            store.read(&digest, 100),
            Err(StoreError::Changed { .. })
        ));
        store.keep(b"component").unwrap();
        assert_eq!(store.read(&digest, 9).unwrap().unwrap(), b"component");
        let others = fs::read_dir(store.dir()).unwrap().count();
        assert_eq!(others, 1, "no temporary files are left");
    }

    #[test]
    fn a_store_opens_no_pipe_and_follows_no_link() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let store = PackageStore::new(dir.path().join("vendor"));
        let digest = store.keep(b"component").unwrap();
        let file = store.dir().join(digest.replace(':', "-"));
        let outside = dir.path().join("outside");
        fs::rename(&file, &outside).unwrap();
        symlink(&outside, &file).unwrap();
        let refused = store.read(&digest, 100).unwrap_err();
        assert!(matches!(refused, StoreError::Io { .. }), "{refused}");
        fs::remove_file(&file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.unwrap().success());
        let refused = store.read(&digest, 100).unwrap_err();
        assert!(matches!(refused, StoreError::Io { .. }), "{refused}");
        // A directory that is a link is neither read nor written.
        let linked = PackageStore::new(dir.path().join("linked"));
        fs::create_dir(dir.path().join("elsewhere")).unwrap();
        symlink(dir.path().join("elsewhere"), linked.dir()).unwrap();
        let refused = linked.keep(b"component").unwrap_err();
        assert!(matches!(refused, StoreError::Io { .. }), "{refused}");
        let written = fs::read_dir(dir.path().join("elsewhere")).unwrap().count();
        assert_eq!(written, 0);
    }

    #[test]
    fn a_text_that_is_not_a_digest_names_no_file() {
        let store = PackageStore::new("/nonexistent");
        for bad in ["", "sha256:", "sha256:../../etc/passwd", "../x"] {
            assert!(
                matches!(store.read(bad, 1), Err(StoreError::Digest(_))),
                "{bad}"
            );
        }
    }
}

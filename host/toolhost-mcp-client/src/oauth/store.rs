//! Keeps credentials between processes.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use toolhost::ResourceName;
use zeroize::Zeroizing;

/// Most bytes of the credentials of one server.
const BYTES_MAX: u64 = 256 << 10;

/// How long another process may hold the lock: a refresh ends within this.
const LOCK_TIME: Duration = Duration::from_secs(90);

/// Between two attempts to get the lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// Whose credentials are kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct McpCredentialKey {
    /// Name of the server in the policy.
    pub server: ResourceName,
    /// Its URL. Credentials are of no use at another one.
    pub url: String,
}

impl McpCredentialKey {
    /// The credentials of a server at a URL.
    #[must_use]
    pub fn new(server: ResourceName, url: impl Into<String>) -> Self {
        let url = url.into();
        Self { server, url }
    }
}

/// Keeps what a server's authorization needs: the client and its tokens, as bytes that only this crate reads.
///
/// The functions may block: they are called on threads for that.
pub trait McpCredentialStore: Send + Sync + 'static {
    /// Returns the credentials of a server, or none.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn load(&self, key: &McpCredentialKey) -> io::Result<Option<Zeroizing<Vec<u8>>>>;

    /// Replaces the credentials of a server, at once or not at all.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn save(&self, key: &McpCredentialKey, credentials: &[u8]) -> io::Result<()>;

    /// Removes the credentials of a server. Returns whether there were any.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn remove(&self, key: &McpCredentialKey) -> io::Result<bool>;

    /// Waits until no other process renews the credentials of this server; dropping the value lets others
    /// continue. A refresh token may be valid once, so that two processes must not use it.
    ///
    /// # Errors
    /// Where it takes longer than a refresh can take, or locks are not available.
    fn lock(&self, key: &McpCredentialKey) -> io::Result<Box<dyn Send>>;
}

/// Credentials in files of one directory, which only this user can read (mode 0600 in 0700). They are not
/// encrypted.
#[derive(Debug, Clone)]
pub struct McpCredentialFiles {
    dir: PathBuf,
}

impl McpCredentialFiles {
    /// Keeps the files in this directory, which is made with the first credentials.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    fn path(&self, key: &McpCredentialKey, extension: &str) -> PathBuf {
        // Names of resources have no dots.
        self.dir.join(format!(
            "{}.{}.{extension}",
            key.server,
            hex_digest(&key.url)
        ))
    }

    fn make_dir(&self) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.dir)?;
        self.check_dir()
    }

    /// Refuses a directory that others can write, or exchange. A missing one is valid.
    fn check_dir(&self) -> io::Result<()> {
        let refuse = |path: &Path, reason: &str| {
            let text = format!("{} {reason}", path.display());
            Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
        };
        let found = match fs::symlink_metadata(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found?,
        };
        if !found.is_dir() {
            return refuse(&self.dir, "is a link or a file, not a directory: remove it");
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return refuse(
                &self.dir,
                "belongs to another user: name another state root",
            );
        }
        let parent = self
            .dir
            .parent()
            .map(|parent| (parent, fs::metadata(parent)));
        let parent = parent.map(|(path, found)| Ok::<_, io::Error>((path, found?.mode())));
        for (path, mode) in std::iter::once((self.dir.as_path(), found.mode()))
            .chain(parent.transpose()?.filter(|(_, mode)| mode & STICKY == 0))
        {
            if mode & WRITABLE != 0 {
                return refuse(path, "can be written by others: run `chmod go-w` on it");
            }
        }
        Ok(())
    }
}

/// Permission bits with which the group or others can write.
const WRITABLE: u32 = 0o022;

/// Permission bit of a directory in which nobody can rename what belongs to another user, such as `/tmp`.
const STICKY: u32 = 0o1000;

/// Returns 16 hexadecimal digits that differ between URLs. Each file holds the whole URL.
fn hex_digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Flags that refuse a link, and do not wait for the other end of a pipe.
fn no_link_no_wait() -> i32 {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    flags.bits().cast_signed()
}

/// Opens a file that this user alone may read, and follows no link.
fn open_private(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    let opened = options
        .read(true)
        .custom_flags(no_link_no_wait())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    let is_private = metadata.is_file()
        && metadata.mode().trailing_zeros() >= 6
        && metadata.uid() == rustix::process::geteuid().as_raw();
    if is_private {
        Ok(Some(file))
    } else {
        let reason =
            "other users can read it, or it is not a file of yours: remove it and log in again";
        Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
    }
}

impl McpCredentialStore for McpCredentialFiles {
    fn load(&self, key: &McpCredentialKey) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        self.check_dir()?;
        let Some(file) = open_private(&self.path(key, "json"))? else {
            return Ok(None);
        };
        let mut bytes = Zeroizing::new(Vec::new());
        file.take(BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    fn save(&self, key: &McpCredentialKey, credentials: &[u8]) -> io::Result<()> {
        if credentials.len() as u64 > BYTES_MAX {
            let reason =
                "the server's credentials have more than 256 KiB, and could not be read again";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
        }
        self.make_dir()?;
        let temporary = self.path(key, &format!("{}.new", std::process::id()));
        let _ = fs::remove_file(&temporary);
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)?;
        let written = file.write_all(credentials).and_then(|()| file.sync_all());
        let replaced = written.and_then(|()| fs::rename(&temporary, self.path(key, "json")));
        if replaced.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        replaced
    }

    fn remove(&self, key: &McpCredentialKey) -> io::Result<bool> {
        self.check_dir()?;
        match fs::remove_file(self.path(key, "json")) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn lock(&self, key: &McpCredentialKey) -> io::Result<Box<dyn Send>> {
        self.make_dir()?;
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        let options = options.custom_flags(no_link_no_wait());
        let file = options.open(self.path(key, "lock"))?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Box::new(file)),
                Err(TryLockError::WouldBlock) if started.elapsed() < LOCK_TIME => {
                    std::thread::sleep(LOCK_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => {
                    let reason = "another process holds the lock of the credentials";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn key(url: &str) -> McpCredentialKey {
        McpCredentialKey::new(ResourceName::parse("srv").unwrap(), url)
    }

    #[test]
    fn credentials_are_private_files_for_each_url() {
        let dir = tempfile::tempdir().unwrap();
        let store = McpCredentialFiles::new(dir.path().join("a/b"));
        let (one, other) = (key("https://a.example/"), key("https://b.example/"));
        assert!(store.load(&one).unwrap().is_none());
        store.save(&one, b"1").unwrap();
        store.save(&one, b"2").unwrap();
        assert_eq!(*store.load(&one).unwrap().unwrap(), b"2");
        assert!(store.load(&other).unwrap().is_none());
        let entries = fs::read_dir(dir.path().join("a/b")).unwrap();
        let modes: Vec<u32> = entries
            .map(|it| it.unwrap().metadata().unwrap().mode() & 0o777)
            .collect();
        assert_eq!(modes, [0o600]);
        let mode = fs::metadata(dir.path().join("a/b")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(store.remove(&one).unwrap() && !store.remove(&one).unwrap());
    }

    #[test]
    fn credentials_that_would_not_be_read_again_are_not_saved() {
        let dir = tempfile::tempdir().unwrap();
        let store = McpCredentialFiles::new(dir.path());
        let one = key("https://a.example/");
        let largest = vec![b'x'; usize::try_from(BYTES_MAX).unwrap()];
        store.save(&one, &largest).unwrap();
        let refused = store.save(&one, &[&*largest, b"x"].concat());
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(*store.load(&one).unwrap().unwrap(), largest);
    }

    #[test]
    fn a_file_that_others_can_read_or_a_link_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let store = McpCredentialFiles::new(dir.path());
        let one = key("https://a.example/");
        store.save(&one, b"1").unwrap();
        let path = store.path(&one, "json");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(store.load(&one).is_err());
        let target = dir.path().join("target");
        fs::rename(&path, &target).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert!(store.load(&one).is_err());
    }

    #[test]
    fn a_directory_that_others_can_write_or_a_link_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let victim = tempfile::tempdir().unwrap();
        let root = top.path().join("root");
        let store = McpCredentialFiles::new(root.join("mcp-credentials"));
        let one = key("https://a.example/");
        let all_refuse = || {
            assert!(store.load(&one).is_err() && store.save(&one, b"2").is_err());
            assert!(store.remove(&one).is_err() && store.lock(&one).is_err());
        };
        store.save(&one, b"1").unwrap();
        for path in [&root, &store.dir] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
            all_refuse();
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
            assert_eq!(*store.load(&one).unwrap().unwrap(), b"1");
        }
        let moved = victim.path().join("moved");
        fs::rename(&store.dir, &moved).unwrap();
        std::os::unix::fs::symlink(&moved, &store.dir).unwrap();
        all_refuse();
        let left = fs::read_dir(&moved).unwrap().count();
        assert_eq!(left, 1, "nothing was written through the link");
    }

    #[test]
    fn a_lock_is_held_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let store = McpCredentialFiles::new(dir.path());
        let one = key("https://a.example/");
        let held = store.lock(&one).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let second = store.lock(&one).unwrap();
                sender.send(()).unwrap();
                drop(second);
            });
            let waits = receiver.recv_timeout(Duration::from_millis(200));
            assert!(waits.is_err());
            drop(held);
            receiver.recv_timeout(Duration::from_secs(20)).unwrap();
        });
    }
}

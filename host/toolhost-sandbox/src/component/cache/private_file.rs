//! Directories and files that only this user can write, and the key.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags, Timespec, Timestamps, UTIME_NOW, futimens};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::CacheError;

/// Opens a file to be read. Does not follow a link, nor wait for the other end of a pipe.
pub(super) fn open(path: &Path) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// Returns whether a regular file belongs to this user, and nobody else can write it.
pub(super) fn is_private(metadata: &fs::Metadata) -> bool {
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    metadata.is_file() && is_ours && metadata.mode() & 0o022 == 0
}

/// Makes a directory where it is missing, and checks that only this user can write it.
pub(super) fn private_dir(dir: &Path) -> Result<(), CacheError> {
    let io = |source| CacheError::Io {
        path: dir.to_owned(),
        source,
    };
    let mut builder = fs::DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(io)?;
    let metadata = fs::metadata(dir).map_err(io)?;
    let ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !ours || metadata.mode() & 0o022 != 0 {
        return Err(CacheError::NotPrivate(dir.to_owned()));
    }
    Ok(())
}

/// Reads the key, or makes one. Two processes that make one at the same time agree on it.
pub(super) fn read_or_make_key(path: &Path) -> Result<[u8; blake3::KEY_LEN], CacheError> {
    let io = |source| CacheError::Io {
        path: path.to_owned(),
        source,
    };
    let refused = || CacheError::NotPrivate(path.to_owned());
    if !path.exists() {
        let mut fresh = [0; blake3::KEY_LEN];
        getrandom::fill(&mut fresh).map_err(|e| io(io::Error::other(e.to_string())))?;
        let dir = path.parent().unwrap_or(Path::new("."));
        let written = write_new(dir, &fresh, 0o600).map_err(io)?;
        // Fails where another process was first. Its key is read below.
        let _ = written.persist_noclobber(path);
    }
    let mut file = open(path).map_err(|error| match error {
        // A symbolic link, and a socket.
        Errno::LOOP | Errno::NXIO => refused(),
        _ => io(error.into()),
    })?;
    let metadata = file.metadata().map_err(io)?;
    let ours = metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw();
    if !ours || metadata.mode() & 0o077 != 0 {
        return Err(refused());
    }
    let mut key = [0; blake3::KEY_LEN];
    let whole = metadata.len() == key.len() as u64;
    if !whole || file.read_exact(&mut key).is_err() {
        return Err(CacheError::BadKey(path.to_owned()));
    }
    Ok(key)
}

/// Writes a file under a temporary name. Dropping it removes the file.
pub(super) fn write_new(dir: &Path, bytes: &[u8], mode: u32) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(".tmp").rand_bytes(16);
    builder.permissions(std::fs::Permissions::from_mode(mode));
    let mut file = builder.tempfile_in(dir)?;
    file.write_all(bytes)?;
    file.as_file().sync_data()?;
    Ok(file)
}

/// Records that a file was used. A failure is logged: the file is evicted earlier.
pub(super) fn touch(file: &File) {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    if let Err(error) = futimens(file, &times) {
        tracing::debug!(%error, "cannot record the use of a file of the cache");
    }
}

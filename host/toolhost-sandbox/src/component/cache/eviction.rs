//! Keeps a cache within its size: removes the least recently used artifacts, half-written ones, and locks of processes
//! that ended.
//!
//! An artifact's modification time is when it was last used. Times are compared only with those of other
//! files in the directory, so that the clock of the file system alone counts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::NamedTempFile;
use toolhost_files::PrivateFile;

use super::artifact::Name;
use super::compile_lock::is_lock;

/// Age at which a half-written artifact, or a lock, counts as abandoned: writing the largest takes seconds, and nobody
/// waits for a lock as long.
const HALF_WRITTEN: Duration = Duration::from_secs(60 * 60);

/// A file that the cache made.
pub(super) struct Item {
    pub(super) path: PathBuf,
    /// None for a half-written one, and for a lock.
    pub(super) artifact: Option<Name>,
    pub(super) bytes: u64,
    pub(super) last_used: SystemTime,
}

/// Returns whether this is the name of an artifact while it is written.
fn is_temporary(name: &str) -> bool {
    let random = name
        .strip_prefix('.')
        .and_then(|name| name.strip_suffix(".tmp"));
    random.is_some_and(|random| {
        random.len() == 16 && random.bytes().all(|c| c.is_ascii_alphanumeric())
    })
}

/// Lists the files that the cache made in a directory.
pub(super) fn list(dir: &Path) -> io::Result<Vec<Item>> {
    let mut items = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str() else {
            continue;
        };
        let artifact = Name::parse(name);
        if artifact.is_none() && !is_temporary(name) && !is_lock(name) {
            continue;
        }
        // Another process may have removed it meanwhile. Symbolic links are not followed.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        if metadata.is_dir() {
            continue;
        }
        items.push(Item {
            path: entry.path(),
            artifact,
            bytes: metadata.len(),
            last_used: metadata.modified()?,
        });
    }
    Ok(items)
}

/// Removes the least recently used artifacts, but never the one just stored, until the rest takes at most
/// `limit` bytes. Removes abandoned half-written ones and locks.
pub(super) fn sweep(dir: &Path, just_stored: &Path, limit: u64) -> io::Result<()> {
    let now = fs::metadata(just_stored).and_then(|stored| stored.modified());
    let now = match now {
        Ok(now) => now,
        // Another process removed it, and has swept.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut artifacts = without_abandoned(list(dir)?, now)?;
    let mut sum: u64 = artifacts.iter().map(|item| item.bytes).sum();
    if sum <= limit {
        return Ok(());
    }
    artifacts.sort_by_key(|item| item.last_used);
    for item in artifacts.iter().filter(|item| item.path != just_stored) {
        if sum <= limit {
            break;
        }
        remove(&item.path)?;
        sum = sum.saturating_sub(item.bytes);
        tracing::debug!(path = %item.path.display(), bytes = item.bytes, "removed the least recently used compiled component");
    }
    Ok(())
}

/// Writes a file. If that fails, such as on a full disk, removes the half-written artifacts of processes that
/// ended, and writes it again.
pub(super) fn write_with_room(
    dir: &Path,
    write: impl Fn() -> io::Result<NamedTempFile>,
) -> io::Result<NamedTempFile> {
    write().or_else(|_| {
        remove_abandoned(dir)?;
        write()
    })
}

/// Removes abandoned half-written artifacts and locks.
pub(super) fn remove_abandoned(dir: &Path) -> io::Result<()> {
    // An empty file takes no space of a full disk, and has the time of the file system.
    let now = PrivateFile::temporary(dir, b"")?
        .as_file()
        .metadata()?
        .modified()?;
    without_abandoned(list(dir)?, now).map(drop)
}

/// Removes abandoned half-written artifacts and locks. Returns the complete ones.
fn without_abandoned(items: Vec<Item>, now: SystemTime) -> io::Result<Vec<Item>> {
    let (artifacts, others): (Vec<_>, Vec<_>) =
        items.into_iter().partition(|item| item.artifact.is_some());
    for item in others {
        let age = now.duration_since(item.last_used).unwrap_or_default();
        if age > HALF_WRITTEN {
            remove(&item.path)?;
        }
    }
    Ok(artifacts)
}

/// Removes a file; another process may have been first.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_write_that_fails_is_repeated_without_abandoned_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let old = SystemTime::now() - 2 * HALF_WRITTEN;
        let names = [
            ".0123456789abcdef.tmp",
            ".notes.tmp",
            "compile-3.lock",
            ".fedcba9876543210.tmp",
        ];
        for name in names {
            fs::write(path(name), "half").unwrap();
        }
        for name in &names[..3] {
            let file = fs::File::options().write(true).open(path(name)).unwrap();
            file.set_modified(old).unwrap();
        }
        let outside = tempfile::NamedTempFile::new().unwrap();
        outside.as_file().set_modified(old).unwrap();
        symlink(outside.path(), path(".aaaaaaaaaaaaaaaa.tmp")).unwrap();

        let attempts = Cell::new(0);
        let write = || {
            attempts.set(attempts.get() + 1);
            match attempts.get() {
                1 => Err(io::ErrorKind::StorageFull.into()),
                _ => PrivateFile::temporary(dir.path(), b"whole"),
            }
        };
        let written = write_with_room(dir.path(), write).unwrap();
        assert_eq!(fs::read(written.path()).unwrap(), b"whole");
        assert!(!path(names[0]).exists());
        assert!(
            path(names[1]).exists(),
            "the cache does not make such names"
        );
        assert!(!path(names[2]).exists(), "its holder was killed");
        assert!(path(names[3]).exists(), "another process may write it now");
        assert!(outside.path().exists());
    }
}

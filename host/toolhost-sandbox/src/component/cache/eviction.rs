//! How much a cache may take: which artefacts are removed, and what is left of half-written ones.
//!
//! An artefact's modification time is when it was last used. Times are compared among files of the
//! directory alone, so the file system's clock counts and no other.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};

use super::artifact::Name;

/// What is still being written has been touched since: the largest takes seconds.
const HALF_WRITTEN: Duration = Duration::from_secs(60 * 60);

/// A file of the cache's own making.
pub(super) struct Item {
    pub(super) path: PathBuf,
    /// What it is of; none where it is half-written.
    pub(super) artefact: Option<Name>,
    pub(super) bytes: u64,
    pub(super) last_used: SystemTime,
}

/// The name of an artefact while it is written.
pub(super) fn temporary(random: &str) -> String {
    format!(".{random}.tmp")
}

fn is_temporary(name: &str) -> bool {
    let random = name
        .strip_prefix('.')
        .and_then(|name| name.strip_suffix(".tmp"));
    random.is_some_and(|random| random.len() == 16 && random.bytes().all(|c| c.is_ascii_hexdigit()))
}

/// Lists what the cache has made in a directory; other files are not its own.
pub(super) fn list(dir: &Path) -> io::Result<Vec<Item>> {
    let mut items = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str() else {
            continue;
        };
        let artefact = Name::parse(name);
        if artefact.is_none() && !is_temporary(name) {
            continue;
        }
        // Another process may have removed it meanwhile. A link is told of itself.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        if metadata.is_dir() {
            continue;
        }
        items.push(Item {
            path: entry.path(),
            artefact,
            bytes: metadata.len(),
            last_used: metadata.modified()?,
        });
    }
    Ok(items)
}

/// Records that an artefact was used. Where this is refused, it counts as old.
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
        tracing::debug!(%error, "cannot record the use of a compiled component");
    }
}

/// Removes artefacts until all of them take at most `limit` bytes, those unused for longest first
/// and never the one just stored; and half-written ones that nobody writes any more.
pub(super) fn sweep(dir: &Path, just_stored: &Path, limit: u64) -> io::Result<()> {
    let now = fs::metadata(just_stored).and_then(|stored| stored.modified());
    let now = match now {
        Ok(now) => now,
        // Another process has already removed it, and swept.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let (mut artefacts, half_written): (Vec<_>, Vec<_>) =
        list(dir)?.into_iter().partition(|i| i.artefact.is_some());
    for item in half_written {
        let age = now.duration_since(item.last_used).unwrap_or_default();
        if age > HALF_WRITTEN {
            remove(&item.path)?;
        }
    }
    let mut sum: u64 = artefacts.iter().map(|item| item.bytes).sum();
    if sum <= limit {
        return Ok(());
    }
    artefacts.sort_by_key(|item| item.last_used);
    for item in artefacts.iter().filter(|item| item.path != just_stored) {
        if sum <= limit {
            break;
        }
        remove(&item.path)?;
        sum = sum.saturating_sub(item.bytes);
        tracing::debug!(path = %item.path.display(), bytes = item.bytes, "removed the compiled component unused for longest");
    }
    Ok(())
}

/// Removes a file; another process may have been first.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

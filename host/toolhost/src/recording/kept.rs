//! The recordings of calls that a host keeps: `failed/` and `succeeded/` in the directory of an instance.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustix::fs::{Mode, OFlags, RenameFlags};
use toolhost_files::PrivateDir;

/// Which recordings of calls a host keeps in the directory of their instance beneath the state root: the newest 20, and
/// at most 16 MiB, of calls that failed, and as much of others. [`ToolResult::recording`](crate::ToolResult::recording) is
/// the path of a call's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum KeptRecordings {
    /// Of failed calls, without their host calls: they cannot be replayed.
    #[default]
    Summaries,
    /// Of failed calls, as a whole. Every call is recorded, which takes time and memory, and the recordings of those that
    /// succeed are dropped.
    Failed,
    /// Of all calls, as a whole.
    All,
}

/// How a recorded call ended, which is where its recording is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Failed,
    Succeeded,
}

impl Ended {
    /// The directory, in that of the instance.
    fn directory(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Succeeded => "succeeded",
        }
    }
}

impl KeptRecordings {
    /// Most bytes of the host calls of a recording that is kept. As base64 they fit the kept bytes.
    pub(crate) const HOST_CALL_BYTES: u64 = KEPT_BYTES_MAX / 2;

    /// Whether host calls are recorded.
    pub(crate) fn is_whole(self) -> bool {
        self != Self::Summaries
    }
}

/// How the names of recordings end.
const EXTENSION: &str = ".call";

/// How the names of files end that are being written.
const UNFINISHED: &str = ".tmp";

/// Most recordings kept in one directory.
pub(crate) const KEPT_MAX: usize = 20;

/// Most bytes kept in one directory. The newest recording is kept whatever its size is.
pub(crate) const KEPT_BYTES_MAX: u64 = 16 << 20;

/// Distinguishes the recordings that a process writes within a millisecond.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Writes a recording of a call, and removes the oldest ones beyond [`KEPT_MAX`] and
/// [`KEPT_BYTES_MAX`]. Returns its path.
///
/// `at` is the time of the call and begins the name, so that names sort by time.
pub(crate) fn keep(
    root: &Path,
    instance: &Path,
    ended: Ended,
    at: &str,
    bytes: &[u8],
) -> io::Result<PathBuf> {
    let directory = instance.join(ended.directory());
    let folder = PrivateDir::make_beneath(root, &directory)?;
    let number = NUMBER.fetch_add(1, Relaxed);
    let process = std::process::id();
    // Without colons, which other file systems do not take.
    let at = at.replace(':', "-");
    let name = format!("{at}-{process:07}-{number:06}{EXTENSION}");
    let unfinished = format!("{name}{UNFINISHED}");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&folder, &unfinished, flags, Mode::RUSR | Mode::WUSR)?;
    let written = File::from(file).write_all(bytes).and_then(|()| {
        let flags = RenameFlags::NOREPLACE;
        Ok(rustix::fs::renameat_with(
            &folder,
            &unfinished,
            &folder,
            &name,
            flags,
        )?)
    });
    if let Err(error) = written {
        let _is_removed = rustix::fs::unlinkat(&folder, &unfinished, rustix::fs::AtFlags::empty());
        return Err(error);
    }
    remove_oldest(&directory)?;
    Ok(directory.join(name))
}

/// Removes the oldest recordings beyond the limits. Another process may do the same at the same time.
fn remove_oldest(directory: &Path) -> io::Result<()> {
    let mut names = recordings(directory)?;
    names.sort();
    let mut bytes = 0_u64;
    for (at, name) in names.iter().rev().enumerate() {
        let path = directory.join(name);
        let size = fs::symlink_metadata(&path).map_or(0, |metadata| metadata.len());
        bytes = bytes.saturating_add(size);
        if at > 0 && (at >= KEPT_MAX || bytes > KEPT_BYTES_MAX) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
    }
    Ok(())
}

/// Returns the names of the recordings, in any order.
fn recordings(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let name = name.to_str().filter(|name| {
            name.strip_suffix(UNFINISHED)
                .unwrap_or(name)
                .ends_with(EXTENSION)
        });
        names.extend(name.map(str::to_owned));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn root() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let instance = root.path().join("instances/one");
        (root, instance)
    }

    fn names(instance: &Path) -> Vec<String> {
        let mut names = recordings(&instance.join("failed")).unwrap();
        names.sort();
        names
    }

    #[test]
    fn twenty_five_failed_calls_leave_the_newest_twenty() {
        let (root, instance) = root();
        let paths: Vec<PathBuf> = (0..25)
            .map(|at| {
                let time = format!("2026-11-23T23:00:{at:02}.000Z");
                keep(root.path(), &instance, Ended::Failed, &time, b"{}").unwrap()
            })
            .collect();
        let names = names(&instance);
        assert_eq!(names.len(), KEPT_MAX);
        let newest = paths.iter().rev().take(KEPT_MAX);
        for path in newest {
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(names.iter().any(|it| it == name), "{name}");
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn the_bytes_of_failed_calls_are_bounded_and_the_newest_is_kept() {
        let (root, instance) = root();
        let large = vec![b' '; usize::try_from(KEPT_BYTES_MAX).unwrap() / 2];
        for at in 0..4 {
            let time = format!("2026-11-23T23:00:0{at}.000Z");
            keep(root.path(), &instance, Ended::Failed, &time, &large).unwrap();
        }
        assert_eq!(names(&instance).len(), 2);
        let larger = vec![b' '; usize::try_from(KEPT_BYTES_MAX).unwrap() + 1];
        let path = keep(
            root.path(),
            &instance,
            Ended::Failed,
            "2026-11-23T23:00:09.000Z",
            &larger,
        )
        .unwrap();
        assert_eq!(names(&instance).len(), 1);
        assert!(path.exists());
    }

    #[test]
    fn a_link_in_the_place_of_the_directory_is_refused() {
        let (root, instance) = root();
        let elsewhere = tempfile::tempdir().unwrap();
        PrivateDir::make_beneath(root.path(), &instance).unwrap();
        symlink(elsewhere.path(), instance.join("failed")).unwrap();
        keep(
            root.path(),
            &instance,
            Ended::Failed,
            "2026-11-23T23:00:00.000Z",
            b"{}",
        )
        .unwrap_err();
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}

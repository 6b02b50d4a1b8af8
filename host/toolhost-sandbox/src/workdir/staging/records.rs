//! The staging directories of one workdir that are undo records, and which of them are kept.

use std::time::SystemTime;

use cap_std::fs::Dir;
use rustix::io::Errno;

use super::journal::{self, Committed, Progress};
use super::root::StagingRoot;
use super::step::{Step, reach};

/// How much is kept to undo commits. The oldest commits are dropped first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndoLimits {
    /// Commits to one workdir. Default 16. With 0, no commit can be undone.
    pub commits: usize,
    /// Bytes on disk of the files that all commits to one workdir have replaced or deleted. Default 256 MiB.
    pub bytes: u64,
}

impl Default for UndoLimits {
    fn default() -> Self {
        Self {
            commits: 16,
            bytes: 256 << 20,
        }
    }
}

/// A commit that can be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndoRecord {
    /// Its id, which [`StagingRoot::undo`] takes.
    pub id: String,
    /// What the caller of the commit called it.
    pub label: String,
    /// When it was committed.
    pub committed: SystemTime,
    /// The paths in the workdir that it changed.
    pub files: Vec<String>,
    /// Bytes on disk of what it replaced or deleted.
    pub bytes: u64,
}

/// Returns the committed transactions of a workdir, the newest first.
pub(super) fn committed(
    root: &StagingRoot,
    workdir: u64,
) -> Result<Vec<(String, Committed)>, Errno> {
    let mut found = Vec::new();
    for (id, progress) in progress_of(root, workdir)? {
        if let Progress::Committed(committed) = progress {
            found.push((id, committed));
        }
    }
    found.sort_unstable_by_key(|(_, committed)| std::cmp::Reverse(committed.sequence));
    Ok(found)
}

/// Returns how far each transaction of a workdir has come.
pub(super) fn progress_of(
    root: &StagingRoot,
    workdir: u64,
) -> Result<Vec<(String, Progress)>, Errno> {
    let mut found = Vec::new();
    for id in root.ids(Some(workdir))? {
        match root.open_id(&id) {
            Ok(dir) => found.push((id, journal::progress(&dir)?)),
            // Removed meanwhile, or nothing of ours.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(found)
}

/// Removes the oldest undo records beyond the limits. Called under the lock of the workdir.
pub(super) fn prune(
    root: &StagingRoot,
    mut newest_first: Vec<(String, Committed)>,
    limits: UndoLimits,
) {
    let mut bytes = 0_u64;
    let is_beyond = |(index, (_, committed)): (usize, &(String, Committed))| {
        bytes = bytes.saturating_add(committed.bytes);
        index >= limits.commits || bytes > limits.bytes
    };
    let first_beyond = newest_first.iter().enumerate().position(is_beyond);
    let kept = first_beyond.unwrap_or(newest_first.len());
    for (id, _) in newest_first.drain(kept..) {
        // None where another process works on it: it is pruned by the next commit.
        if let Ok(Some(dir)) = root.open_locked(&id) {
            remove(root, &id, &dir);
        }
    }
}

/// Removes a staging directory that this process has locked, with its journal first.
pub(super) fn remove(root: &StagingRoot, id: &str, dir: &Dir) {
    let removed = journal::remove(dir);
    if removed.is_ok() && reach(Step::JournalRemoved).is_ok() {
        root.remove(id, dir);
        let _ = reach(Step::Removed);
    }
    root.unlock(dir);
}

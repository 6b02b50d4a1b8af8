//! The staging directories of one workdir that are undo records, and which of them are kept.

use std::time::{Duration, SystemTime};

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
    /// Bytes on disk of the files that all commits to one workdir have replaced or deleted, and of the lists of their
    /// renames. Default 256 MiB.
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
    /// The paths in the workdir that it changed: the first 1,000.
    pub files: Vec<String>,
    /// How many paths it changed.
    pub count: usize,
    /// Bytes on disk of what it replaced or deleted, and of the list of its renames.
    pub bytes: u64,
}

/// Returns the committed ones of these transactions, the newest first.
pub(super) fn committed(all: Vec<(String, Progress)>) -> Vec<(String, Committed)> {
    let committed = all.into_iter().filter_map(|(id, progress)| match progress {
        Progress::Committed(committed) => Some((id, committed)),
        Progress::NotBegun | Progress::Unfinished => None,
    });
    let mut found: Vec<_> = committed.collect();
    found.sort_unstable_by_key(|(_, committed)| std::cmp::Reverse(committed.sequence));
    found
}

/// Returns how far each transaction of a workdir has come. Leaves out what cannot be opened: it was removed
/// meanwhile, or is nothing of ours.
pub(super) fn progress_of(
    root: &StagingRoot,
    workdir: u64,
) -> Result<Vec<(String, Progress)>, Errno> {
    let progress = |id: String| {
        let progress = root.progress(&id)?;
        Some((id, progress))
    };
    Ok(root
        .ids(Some(workdir))?
        .into_iter()
        .filter_map(progress)
        .collect())
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

/// Removes the oldest undo record that no other process works on, to make room. Returns whether there was one.
/// Called under the lock of the workdir.
pub(super) fn drop_oldest(root: &StagingRoot, newest_first: &mut Vec<(String, Committed)>) -> bool {
    while let Some((id, _)) = newest_first.pop() {
        if let Ok(Some(dir)) = root.open_locked(&id) {
            tracing::warn!(
                id,
                "the disk is full: a call can no longer be undone, as its undo record made room"
            );
            remove(root, &id, &dir);
            return true;
        }
    }
    false
}

/// Removes the oldest undo record of a workdir, unless a commit runs there. Returns whether there was one.
pub(super) fn make_room(root: &StagingRoot, workdir: u64) -> bool {
    let Ok(_lock) = root.lock_workdir_within(workdir, Duration::ZERO) else {
        return false;
    };
    let all = progress_of(root, workdir);
    all.is_ok_and(|all| drop_oldest(root, &mut committed(all)))
}

/// Removes a staging directory that this process has locked, with its journal first.
pub(super) fn remove(root: &StagingRoot, id: &str, dir: &Dir) {
    if let Ok(Progress::Committed(_)) = journal::progress(dir)
        && let Err(error) = root.note_committed(id, dir)
    {
        tracing::warn!(id, %error, "an undo record is kept, as the run of its call cannot be noted");
        return root.unlock(dir);
    }
    let removed = journal::remove(dir);
    if removed.is_ok() && reach(Step::JournalRemoved).is_ok() {
        root.remove(id, dir);
        let _ = reach(Step::Removed);
    }
    root.unlock(dir);
}

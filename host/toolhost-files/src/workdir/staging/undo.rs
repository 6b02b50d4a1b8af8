//! Undoes a commit: its renames backwards, with what it had replaced or deleted.
//!
//! An undo has the guarantees of a commit. It cannot be undone itself: what the call had made is removed.

use std::collections::HashMap;
use std::io;

use cap_std::fs::Dir;
use rustix::io::Errno;

use super::change_set::{ChangeSet, RenameOp};
use super::error::{CommitError, LISTED_MAX, Shortage, StagingError, UndoError};
use super::held_list;
use super::journal::{self, Committed, Journal, Mark};
use super::namespace::check;
use super::plan::{Way, WorkdirPlace};
use super::records::{UndoRecord, committed, drop_oldest, progress_of, remove};
use super::recovery::finish_dead;
use super::renames::Renames;
use super::rollback::{Stuck, make_again, paths, take_back};
use super::root::{LOCK_WAIT, LockError, StagingRoot};
use super::stamp::of_stat;
use super::step::{Step, reach};
use super::tree::{LeftStamp, changed_trees};
use crate::workdir::{WorkdirHandle, WriteProtected};

/// A commit that was undone.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undone {
    /// Its id.
    pub id: String,
    /// What the caller of the commit called it.
    pub label: String,
    /// The paths in the workdir that are as they were before it: the first 1,000.
    pub files: Vec<String>,
}

impl StagingRoot {
    /// Returns the commits to a workdir that can be undone, the newest first.
    ///
    /// # Errors
    /// [`StagingError::Io`] where the staging root cannot be read. A record that cannot be read is left out.
    pub fn undo_records(&self, workdir: &WorkdirHandle) -> Result<Vec<UndoRecord>, StagingError> {
        let place = WorkdirPlace::of(workdir).map_err(|error| self.failed(error))?;
        let all = progress_of(self, place.inode).map_err(|errno| self.failed(errno))?;
        Ok(committed(all)
            .into_iter()
            .filter_map(|(id, mark)| self.record(&place, id, mark))
            .collect())
    }

    fn record(&self, place: &WorkdirPlace, id: String, mark: Committed) -> Option<UndoRecord> {
        let dir = self.open_id(&id).ok()?;
        let journal = journal::read(&dir).ok()??;
        if !journal.plan.workdir.is_same(place) {
            return None;
        }
        Some(UndoRecord {
            id,
            label: journal.plan.label.clone(),
            committed: journal::written(&dir).ok()?,
            files: changed(&journal),
            count: journal.plan.count(),
            bytes: mark.bytes,
        })
    }

    /// Undoes a commit to a workdir: files, directories and links get the names, the bytes and the modes that
    /// they had before it. Without an id, it undoes the newest one.
    ///
    /// Write protection does not apply: the commit was allowed, and whoever undoes it is no guest. What the
    /// commit had made is removed: an undo cannot be undone. Blocks for as long as the renames take.
    ///
    /// # Errors
    /// [`UndoError`]; among them [`UndoError::Conflict`] where something was changed since the commit.
    pub fn undo(&self, workdir: &WorkdirHandle, id: Option<&str>) -> Result<Undone, UndoError> {
        let place = WorkdirPlace::of(workdir);
        let place = place.map_err(|error| failed("opening the workdir", error))?;
        let _lock = self
            .lock_workdir(place.inode)
            .map_err(|error| match error {
                LockError::Busy => UndoError::Busy {
                    seconds: LOCK_WAIT.as_secs(),
                },
                LockError::Io(error) => failed("locking the workdir", error),
            })?;
        let io = |errno: Errno| failed("reading the staging root", errno.into());
        let found = finish_dead(self, &workdir.dir, &place).map_err(io)?;
        let of_id = |(known, _): &(String, Committed)| id.is_none_or(|id| id == known);
        let is_its = |id: &str| self.is_of(&place, id);
        let mut others = found;
        let at = others.iter().position(|one| of_id(one) && is_its(&one.0));
        let (id, mark) = others.remove(at.ok_or(UndoError::Nothing)?);
        let dir = self.open_locked(&id).map_err(io)?.ok_or(UndoError::Busy {
            seconds: LOCK_WAIT.as_secs(),
        })?;
        let undone = self.undo_locked(workdir, &id, &dir, mark, others);
        self.unlock(&dir);
        undone
    }

    /// Whether an undo record is one of this workdir. One that cannot be read is: undoing it fails with the
    /// reason.
    fn is_of(&self, place: &WorkdirPlace, id: &str) -> bool {
        let journal = self
            .open_id(id)
            .ok()
            .and_then(|dir| journal::read(&dir).ok());
        !matches!(journal, Some(Some(journal)) if !journal.plan.workdir.is_same(place))
    }

    fn undo_locked(
        &self,
        workdir: &WorkdirHandle,
        id: &str,
        dir: &Dir,
        mark: Committed,
        mut others: Vec<(String, Committed)>,
    ) -> Result<Undone, UndoError> {
        let bad = |reason: String| UndoError::BadRecord {
            path: self.path().join(id),
            reason,
        };
        let journal = journal::read(dir).map_err(bad)?.ok_or(UndoError::Nothing)?;
        let renames = Renames {
            workdir: &workdir.dir,
            staging: dir,
        };
        check_left(&renames, &journal).map_err(|error| self.refused(id, error))?;
        reach(Step::Checked).map_err(|error| failed("checking the files", error))?;
        // So that nobody takes what is being undone for changes that wait.
        held_list::forget(dir).map_err(|error| failed("writing the journal", error))?;
        loop {
            let marked = journal::append(dir, Mark::Undoing);
            match marked.and_then(|()| reach(Step::UndoMarked)) {
                Err(error)
                    if Shortage::of(&error) == Some(Shortage::Disk)
                        && drop_oldest(self, &mut others) => {}
                marked => break marked.map_err(|error| failed("writing the journal", error))?,
            }
        }
        let stuck = take_back(&renames, &journal.plan);
        let stuck = stuck.map_err(|error| failed("renaming files", error))?;
        if !stuck.is_empty() {
            return Err(self.restore(&renames, &journal, id, mark, stuck));
        }
        let files = changed(&journal);
        let label = journal.plan.label;
        remove(self, id, dir);
        let id = id.to_owned();
        Ok(Undone { id, label, files })
    }

    /// Returns why a commit is not undone.
    fn refused(&self, id: &str, error: CommitError) -> UndoError {
        // What the record says is not there, or fits together with nothing.
        let is_bad = |source: &io::Error| {
            let kind = source.kind();
            kind == io::ErrorKind::InvalidInput || kind == io::ErrorKind::NotFound
        };
        let path = self.path().join(id);
        match error {
            CommitError::Conflict { files } => UndoError::Conflict { files },
            CommitError::Failed { step, source } if !is_bad(&source) => {
                UndoError::Failed { step, source }
            }
            CommitError::Short { step, source, .. } => failed(&step, source),
            CommitError::Failed { .. }
            | CommitError::WriteProtected { .. }
            | CommitError::Busy { .. }
            | CommitError::TooLarge { .. }
            | CommitError::Late { .. }
            | CommitError::Superseded
            | CommitError::Committed { .. }
            | CommitError::HalfDone { .. } => {
                let reason = error.to_string();
                UndoError::BadRecord { path, reason }
            }
        }
    }

    /// Makes the renames of the commit again, where an undo broke off.
    fn restore(
        &self,
        renames: &Renames<'_>,
        journal: &Journal,
        id: &str,
        mark: Committed,
        stuck: Vec<Stuck>,
    ) -> UndoError {
        let half_done = |files: Vec<String>, source: io::Error| UndoError::HalfDone {
            step: "renaming files".to_owned(),
            files,
            staging: self.path().join(id),
            source,
        };
        let is_conflict = stuck.iter().all(|stuck| stuck.is_conflict);
        let files = paths(&stuck);
        let first = stuck.into_iter().next();
        let (path, source) = match first {
            Some(stuck) => (stuck.path, stuck.error),
            None => (String::new(), Errno::IO.into()),
        };
        let again = match make_again(renames, &journal.plan.ops) {
            Ok(again) => paths(&again),
            Err(_) => changed(journal),
        };
        if !again.is_empty() {
            return half_done(again, source);
        }
        let marked = journal::append(renames.staging, Mark::Committed(mark));
        match marked {
            // Another program was faster.
            Ok(()) if is_conflict => UndoError::Conflict { files },
            Ok(()) => failed(&format!("renaming `{path}`"), source),
            Err(error) => half_done(Vec::new(), error),
        }
    }
}

fn failed(step: &str, source: io::Error) -> UndoError {
    let step = step.to_owned();
    match Shortage::of(&source) {
        Some(shortage) => UndoError::Short {
            shortage,
            step,
            source,
        },
        None => UndoError::Failed { step, source },
    }
}

/// Returns the first paths that a commit changed.
fn changed(journal: &Journal) -> Vec<String> {
    journal.plan.files(LISTED_MAX)
}

/// Checks that everything is as the commit left it: the renames backwards conflict with nothing.
fn check_left(renames: &Renames<'_>, journal: &Journal) -> Result<(), CommitError> {
    let io = |source: io::Error| CommitError::failed("reading the workdir", source);
    let mut stamps = HashMap::new();
    let mut files = Vec::new();
    for left in &journal.plan.left {
        let now = renames.stat(&left.path);
        match now.map_err(|errno| io(errno.into()))? {
            Some(now) if left.stamp.is_as(&LeftStamp::of(&now)) => {
                stamps.insert(left.stamp.inode(), of_stat(&now));
            }
            _ if files.len() < LISTED_MAX => files.push(left.path.to_string()),
            _ => {}
        }
    }
    let left: Vec<_> = journal.plan.left.iter().collect();
    files.extend(changed_trees(renames, &left));
    if !files.is_empty() {
        return Err(CommitError::Conflict { files });
    }
    let stamp = |inode: u64| stamps.get(&inode).copied();
    let unknown = || io(io::ErrorKind::InvalidInput.into());
    let mut ops = Vec::with_capacity(journal.plan.ops.len());
    for op in journal.plan.ops.iter().rev() {
        let (staged, path) = (op.staged.clone(), op.path.clone());
        let expected = stamp(op.inode).ok_or_else(unknown);
        ops.push(match op.way {
            Way::Put => RenameOp::Take {
                path,
                staged,
                expected: expected?,
            },
            Way::Take => RenameOp::Put { staged, path },
            Way::Exchange { .. } => RenameOp::Exchange {
                staged,
                path,
                expected: expected?,
            },
        });
    }
    let read = Vec::new();
    let set = ChangeSet { ops, read };
    check(renames, &set, &WriteProtected::default(), None).map(drop)
}

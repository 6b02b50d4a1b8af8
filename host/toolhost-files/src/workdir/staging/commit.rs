//! Commits a transaction: checks, journal, renames, end mark.

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;

use super::change_set::{ChangeSet, RenameOp};
use super::clock::CommitClock;
use super::contents::is_empty;
use super::error::{CommitError, LISTED_MAX};
use super::held_list;
use super::journal::{self, BYTES_MAX, Committed as EndMark, Mark, Progress};
use super::namespace::{Checked, Placed, check, staged_dir};
use super::plan::{JournalOp, Plan, WorkdirPlace};
use super::records::{UndoLimits, drop_oldest, prune};
use super::recovery::finish_dead;
use super::renames::{Fault, Renames};
use super::rollback::{make, paths, take_back};
use super::root::{LOCK_WAIT, LockError, inode_of};
use super::runs::CommitRun;
use super::stamp::FileKind;
use super::step::{Step, reach};
use super::transaction::Staging;
use super::tree::{Left, read_tree};
use crate::platform::sync_file_system;
use crate::workdir::tree_path::TreePath;
use crate::workdir::{WorkdirHandle, WriteProtected};
use toolhost_contract::FileChanges;

/// Bytes of a block, as the system counts them.
const BLOCK_BYTES: u64 = 512;

/// How a transaction is committed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CommitOptions {
    /// What may not be changed, looked up again at the commit.
    pub protected: WriteProtected,
    /// Whether the commit waits for the disk.
    pub durability: Durability,
    /// What is kept to undo commits to this workdir.
    pub undo: UndoLimits,
    /// Names the call in the undo record.
    pub label: String,
    /// Longest time until the first rename, without that for which it waits for other commits. Default 30 s.
    pub time: Duration,
    /// The run of a call that may run again elsewhere: it commits unless a later run has begun, or one was committed.
    /// Default: none.
    pub run: Option<CommitRun>,
    /// Whether the changes are returned with the [diff](toolhost_contract::FileChange::diff) of each file. Default: no.
    pub diffs: bool,
}

impl Default for CommitOptions {
    fn default() -> Self {
        Self {
            protected: WriteProtected::default(),
            durability: Durability::default(),
            undo: UndoLimits::default(),
            label: String::new(),
            time: Duration::from_secs(30),
            run: None,
            diffs: false,
        }
    }
}

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the process. After a loss of power, a commit of the last seconds may be there in part.
    #[default]
    Process,
    /// A loss of power: the file system writes everything to the disk before the first rename, and again
    /// before the commit returns.
    Power,
}

/// A transaction that was committed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Committed {
    /// The id of its undo record. None if it changed nothing, or the limits allow no record of its size.
    pub(crate) undo: Option<String>,
}

impl Staging {
    /// Makes the changes of a transaction in the workdir: all of them, or none.
    ///
    /// Commits to one workdir wait for each other. Each file changes in one step: whoever opens a path finds
    /// the former file or the new one. After an error, the transaction is gone. Blocks
    /// for as long as the renames take.
    ///
    /// # Errors
    /// [`CommitError`].
    pub(crate) fn commit(
        mut self,
        workdir: &WorkdirHandle,
        (set, changes): (&ChangeSet, &FileChanges),
        options: &CommitOptions,
        clock: CommitClock,
    ) -> Result<Committed, CommitError> {
        self.try_commit(workdir, (set, changes), options, clock)
    }

    /// Commits, and keeps the transaction if that fails.
    pub(super) fn try_commit(
        &mut self,
        workdir: &WorkdirHandle,
        (set, changes): (&ChangeSet, &FileChanges),
        options: &CommitOptions,
        mut clock: CommitClock,
    ) -> Result<Committed, CommitError> {
        if set.ops.is_empty() && set.read.is_empty() {
            return Ok(Committed::default());
        }
        let before = |step: &str, error: io::Error| CommitError::failed(step, error);
        let inode = inode_of(&workdir.dir);
        let inode = inode.map_err(|errno| before("opening the workdir", errno.into()))?;
        let waits = Instant::now();
        let _lock = self
            .root()
            .lock_workdir(inode)
            .map_err(|error| match error {
                LockError::Busy => CommitError::Busy {
                    seconds: LOCK_WAIT.as_secs(),
                },
                LockError::Io(error) => before("locking the workdir", error),
            })?;
        reach(Step::Locked).map_err(|error| before("locking the workdir", error))?;
        let root = self.root().clone();
        let place =
            WorkdirPlace::of(workdir).map_err(|error| before("opening the workdir", error))?;
        let mut records = finish_dead(&root, &workdir.dir, &place)
            .map_err(|errno| before("reading the staging root", errno.into()))?;
        let dir = self.dir().clone();
        let renames = Renames {
            workdir: &workdir.dir,
            staging: &dir,
        };
        if let Some(run) = &options.run {
            // A later run has made what an earlier one would conflict with.
            root.check_run(run)?;
        }
        clock.leave_out(waits.elapsed());
        let Checked {
            ops,
            placed,
            staged,
        } = check(&renames, set, &options.protected, Some(&clock))?;
        reach(Step::Checked).map_err(|error| before("checking the files", error))?;
        if ops.is_empty() {
            return Ok(Committed::default());
        }
        if let Some(run) = &options.run {
            root.begin_commit(run, changes, (self.id(), &dir))?;
        }
        let last = records.first().map_or(0, |(_, last)| last.sequence);
        let left = to_leave(&dir, placed, &clock)?;
        let left = left.map_err(|error| before("reading the changes", error))?;

        let plan = Plan {
            workdir: place,
            label: options.label.clone(),
            ops,
            left,
        };
        let commit = Commit {
            renames,
            set,
            ops: &plan.ops,
            staged: &staged,
        };
        let end = EndMark {
            sequence: last.saturating_add(1),
            bytes: 0,
        };
        let end = loop {
            let made = self.make(&commit, &plan, end, options.durability, &clock);
            match made {
                // What is kept to undo earlier commits makes room for this one.
                Err(error) if error.is_full_disk() && drop_oldest(&root, &mut records) => {}
                made => break made?,
            }
        };

        let id = self.id().to_owned();
        self.leave();
        if options.run.is_some()
            && let Err(error) = root.note_committed(&id, &dir)
        {
            // The journal says it, too.
            tracing::warn!(id, %error, "the run of a call could not be noted as committed");
        }
        if let Err(error) = held_list::forget(&dir) {
            // Nothing commits it again: it has the mark.
            tracing::warn!(id, %error, "the list of held changes could not be removed");
        }
        // It may be beyond the limits itself.
        root.unlock(&dir);
        records.insert(0, (id.clone(), end));
        prune(&root, records, options.undo);
        let is_kept = options.undo.commits > 0 && end.bytes <= options.undo.bytes;
        Ok(Committed {
            undo: is_kept.then_some(id),
        })
    }

    /// Writes the journal, makes the renames and marks their end; or takes them back.
    fn make(
        &mut self,
        commit: &Commit<'_>,
        plan: &Plan,
        end: EndMark,
        durability: Durability,
        clock: &CommitClock,
    ) -> Result<EndMark, CommitError> {
        let not_written = |error: io::Error| CommitError::failed("writing the journal", error);
        let dir = self.dir().clone();
        clock.check()?;
        journal::write(&dir, plan).map_err(|error| {
            if error.kind() == io::ErrorKind::FileTooLarge {
                let bytes_max = BYTES_MAX;
                return CommitError::TooLarge { bytes_max };
            }
            not_written(error)
        })?;
        if durability == Durability::Power {
            sync_file_system(&*dir).map_err(|errno| not_written(errno.into()))?;
        }
        let made = commit.make_renames();
        let marked = made.and_then(|()| {
            let marked = commit.mark_end(end, durability);
            marked.map_err(|error| Broken::failed("writing the end mark", error))
        });
        marked.map_err(|broken| self.take_back(&commit.renames, plan, broken))
    }

    /// Takes back the renames of a commit that broke off.
    fn take_back(&mut self, renames: &Renames<'_>, plan: &Plan, broken: Broken) -> CommitError {
        // The journal may have an end mark, which another process must not find.
        let unmarked = match journal::progress(self.dir()) {
            Ok(Progress::NotBegun | Progress::Unfinished) => Ok(()),
            Ok(Progress::Committed(_)) => journal::append(self.dir(), Mark::Undoing),
            Err(error) => Err(error),
        };
        let stuck = match unmarked.and_then(|()| take_back(renames, plan)) {
            Ok(stuck) => paths(&stuck),
            Err(_) => plan.files(LISTED_MAX),
        };
        if stuck.is_empty() && !broken.is_astray {
            // A kept transaction goes on; another one is removed when it is dropped.
            let _ = journal::remove(self.dir());
            return broken.error;
        }
        self.leave();
        let text = broken.error.to_string();
        let (step, source) = if let CommitError::Failed { step, source }
        | CommitError::Short { step, source, .. } = broken.error
        {
            (step, source)
        } else {
            ("a rename".to_owned(), io::Error::other(text))
        };
        CommitError::HalfDone {
            step,
            files: stuck,
            staging: self.path().to_owned(),
            source,
        }
    }
}

/// Why a commit broke off.
struct Broken {
    error: CommitError,
    /// Whether a file of another program is in the staging directory.
    is_astray: bool,
}

impl Broken {
    fn failed(step: impl Into<String>, source: io::Error) -> Self {
        let error = CommitError::failed(step, source);
        let is_astray = false;
        Self { error, is_astray }
    }

    fn conflict(path: &TreePath) -> Self {
        let files = vec![path.to_string()];
        let error = CommitError::Conflict { files };
        let is_astray = false;
        Self { error, is_astray }
    }

    fn of(path: &TreePath, fault: Fault) -> Self {
        match fault {
            Fault::Gone | Fault::Taken => Self::conflict(path),
            Fault::Astray => Self {
                is_astray: true,
                ..Self::conflict(path)
            },
            Fault::Io(source) => Self::failed(format!("renaming `{path}`"), source),
        }
    }
}

/// Whether a rename takes a directory out of the workdir.
fn expects_dir(op: &RenameOp) -> bool {
    match op {
        RenameOp::Put { .. } => false,
        RenameOp::Take { expected, .. } | RenameOp::Exchange { expected, .. } => {
            expected.kind == FileKind::Dir
        }
    }
}

/// A commit whose journal is written.
struct Commit<'a> {
    renames: Renames<'a>,
    set: &'a ChangeSet,
    ops: &'a [JournalOp],
    /// The names in the staging directory of what will be there after the last rename.
    staged: &'a [String],
}

impl Commit<'_> {
    fn make_renames(&self) -> Result<(), Broken> {
        // A directory that goes nowhere else is deleted with what is in it.
        let deleted: HashSet<&str> = self.staged.iter().map(String::as_str).collect();
        for (op, rename) in self.set.ops.iter().zip(self.ops) {
            let path = &rename.path;
            let io = |error: io::Error| Broken::failed(format!("renaming `{path}`"), error);
            reach(Step::Renaming).map_err(io)?;
            if let RenameOp::Take { expected, .. } | RenameOp::Exchange { expected, .. } = op {
                let now = self
                    .renames
                    .at_path(path)
                    .map_err(|errno| io(errno.into()))?;
                if !now.is_some_and(|now| expected.is_same_content(&now)) {
                    return Err(Broken::conflict(path));
                }
            }
            make(&self.renames, rename).map_err(|fault| Broken::of(path, fault))?;
            if expects_dir(op) && deleted.contains(rename.staged.as_str()) {
                self.check_empty(&rename.staged, path)?;
            }
            reach(Step::Renamed).map_err(io)?;
        }
        Ok(())
    }

    /// Refuses to delete a directory in which another program has made a file.
    fn check_empty(&self, staged: &str, path: &TreePath) -> Result<(), Broken> {
        let emptiness = staged_dir(self.renames.staging, staged).and_then(|dir| is_empty(&dir));
        match emptiness {
            Ok(true) => Ok(()),
            Ok(false) => Err(Broken::conflict(path)),
            Err(errno) => Err(Broken::failed(format!("reading `{path}`"), errno.into())),
        }
    }

    fn mark_end(&self, end: EndMark, durability: Durability) -> io::Result<EndMark> {
        let dir: &Dir = self.renames.staging;
        let names = self.staged.iter().map(String::as_str);
        let bytes = names.chain([journal::NAME]).map(|name| {
            let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(u64::try_from(stat.st_blocks).unwrap_or_default())
        });
        let blocks = bytes.sum::<Result<u64, Errno>>()?;
        let end = EndMark {
            bytes: blocks.saturating_mul(BLOCK_BYTES),
            ..end
        };
        if durability == Durability::Power {
            sync_file_system(dir)?;
        }
        journal::append(dir, Mark::Committed(end))?;
        if durability == Durability::Power {
            journal::sync(dir)?;
        }
        reach(Step::EndMarked)?;
        Ok(end)
    }
}

/// Returns what the commit will leave in the workdir. What gets a name of its own in a new directory is left
/// out of that one's tree: it has its own stamp.
fn to_leave(
    dir: &Dir,
    placed: Vec<Placed>,
    clock: &CommitClock,
) -> Result<io::Result<Vec<Left>>, CommitError> {
    let inodes: HashSet<u64> = placed.iter().map(|one| one.stamp.inode()).collect();
    let leave = |one: Placed| {
        let tree = match &one.new_dir {
            Some(name) => Some(read_tree(staged_dir(dir, name)?, &inodes)?),
            None => None,
        };
        Ok(Left {
            path: one.path,
            stamp: one.stamp,
            tree,
        })
    };
    let mut left = Vec::with_capacity(placed.len());
    for one in placed {
        clock.check()?;
        match leave(one) {
            Ok(one) => left.push(one),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(left))
}

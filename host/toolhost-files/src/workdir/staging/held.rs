//! Changes of a transaction that wait for somebody's consent: their list lies in the staging directory, beside what
//! was staged.
//!
//! The list is a private file. Its digest is over the list and over all that was staged, so that what is committed
//! later is what was shown. Recovery leaves such a directory alone: whoever holds it drops it.

use std::io;
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use rustix::io::Errno;
use toolhost_contract::FileChanges;

use super::change_set::ChangeSet;
use super::clock::CommitClock;
use super::commit::{CommitOptions, Committed};
use super::difference::FileDifference;
use super::error::CommitError;
use super::held_list::{is_held, read_list, write_list};
use super::journal::{self, BYTES_MAX, Progress};
use super::namespace::check;
use super::plan::WorkdirPlace;
use super::records::remove;
use super::recovery::take_back_unfinished;
use super::renames::Renames;
use super::root::{LOCK_WAIT, LockError, StagingRoot};
use super::transaction::Staging;
use crate::PrivateDir;
use crate::workdir::WorkdirHandle;

/// How long dropping changes waits for whoever works on them.
const DROP_WAIT: Duration = Duration::from_millis(50);

/// Changes that wait. Dropping it drops them, unless they are [kept](Self::keep); until then, no other process does.
#[derive(Debug)]
pub struct HeldChanges {
    staging: Staging,
    /// SHA-256 of all that a commit would do, in hexadecimal.
    pub digest: String,
    /// The files, as a receipt lists them.
    pub changes: FileChanges,
    /// How each file differs, in the order of `changes`.
    pub differences: Vec<FileDifference>,
    /// Bytes of the staged files.
    pub bytes: u64,
}

impl HeldChanges {
    /// The id that [`StagingRoot::commit_held`] takes.
    pub fn id(&self) -> &str {
        self.staging.id()
    }

    /// Leaves the changes in the state root, until they are committed or dropped by their id.
    pub fn keep(mut self) {
        self.staging.leave();
    }
}

/// What has become of changes that were held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldState {
    /// They wait.
    Waiting,
    /// They were committed.
    Committed,
    /// They were dropped; or committed, and their undo record was dropped since.
    Gone,
}

/// Why changes that were held are not committed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeldError {
    /// They are not there, or not what was shown.
    #[error("the changes that were shown are not there any more")]
    Changed,
    /// They cannot be committed. They are dropped after a conflict, and wait on after other errors.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl Staging {
    /// Checks the changes as a commit does, and writes their list. They wait until they are committed by their id.
    ///
    /// # Errors
    /// [`CommitError`], as for a commit. The changes are dropped.
    pub(crate) fn hold(
        self,
        workdir: &WorkdirHandle,
        set: &ChangeSet,
        (changes, differences): (FileChanges, Vec<FileDifference>),
        options: &CommitOptions,
        clock: &CommitClock,
    ) -> Result<HeldChanges, CommitError> {
        let failed = |error: io::Error| CommitError::failed("writing the list of changes", error);
        let renames = Renames {
            workdir: &workdir.dir,
            staging: self.dir(),
        };
        check(&renames, set, &options.protected, Some(clock))?;
        let written = write_list(self.dir(), workdir, set).map_err(failed)?;
        let bytes_max = BYTES_MAX;
        let (digest, bytes) = written.ok_or(CommitError::TooLarge { bytes_max })?;
        Ok(HeldChanges {
            staging: self,
            digest,
            changes,
            differences,
            bytes,
        })
    }
}

impl StagingRoot {
    /// Returns what has become of held changes.
    pub fn held(&self, id: &str) -> HeldState {
        match self.progress(id) {
            Some(Progress::Committed(_)) => HeldState::Committed,
            // A commit that a process left unfinished is taken back before the next one.
            Some(Progress::NotBegun | Progress::Unfinished) if self.is_held(id) => {
                HeldState::Waiting
            }
            Some(Progress::NotBegun | Progress::Unfinished) | None => HeldState::Gone,
        }
    }

    fn is_held(&self, id: &str) -> bool {
        self.open_id(id).is_ok_and(|dir| is_held(&dir))
    }

    /// Returns the ids of all held changes that no process works on. Those of a process that was killed once they were
    /// committed are an undo record.
    ///
    /// # Errors
    /// Where the staging root cannot be read.
    pub fn held_ids(&self) -> io::Result<Vec<String>> {
        let mut held = self.ids(None)?;
        held.retain(|id| self.held(id) == HeldState::Waiting);
        Ok(held)
    }

    /// Drops held changes. Does nothing if they are gone, or a process works on them for longer than some milliseconds.
    pub fn drop_held(&self, id: &str) {
        let opened = self.wait_locked(id, DROP_WAIT).ok().flatten();
        if let Some(dir) = opened.and_then(|dir| self.if_held(dir)) {
            remove(self, id, &dir);
        }
    }

    /// Opens and locks the staging directory of this id. Waits for whoever works on it: the call that has just stored it, or
    /// a look at what processes left.
    fn wait_locked(&self, id: &str, most: Duration) -> Result<Option<Dir>, Errno> {
        let begun = Instant::now();
        loop {
            let opened = self.open_locked(id)?;
            let is_over = opened.is_some() || begun.elapsed() >= most;
            if is_over || self.open_id(id).is_err() {
                return Ok(opened);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Drops held changes as [`drop_held`](Self::drop_held) does, unless somebody waits for them. That is asked while no
    /// other process can hold them: it stores who waits for them before it unlocks them.
    pub async fn drop_held_unless(&self, id: &str, waits: impl Future<Output = bool>) {
        let opened = self.open_locked(id).ok().flatten();
        let Some(dir) = opened.and_then(|dir| self.if_held(dir)) else {
            return;
        };
        if waits.await {
            self.unlock(&dir);
        } else {
            remove(self, id, &dir);
        }
    }

    /// Returns a locked staging directory if its changes are held, and were not committed.
    fn if_held(&self, dir: Dir) -> Option<Dir> {
        if is_held(&dir) && matches!(journal::progress(&dir), Ok(Progress::NotBegun)) {
            return Some(dir);
        }
        self.unlock(&dir);
        None
    }

    /// Commits held changes, if they are those of the digest.
    ///
    /// # Errors
    /// [`HeldError`].
    pub fn commit_held(
        &self,
        workdir: &WorkdirHandle,
        id: &str,
        digest: &str,
        options: &CommitOptions,
    ) -> Result<Option<String>, HeldError> {
        let failed = |error: io::Error| CommitError::failed("reading the list of changes", error);
        let opened = self.wait_locked(id, LOCK_WAIT);
        let opened = opened.map_err(|errno| failed(errno.into()))?;
        let seconds = LOCK_WAIT.as_secs();
        if opened.is_none() && self.open_id(id).is_ok() {
            return Err(CommitError::Busy { seconds }.into());
        }
        let Some(dir) = opened.filter(is_held) else {
            return Err(HeldError::Changed);
        };
        let mut staging = Staging::of(self, id.to_owned(), dir);
        // Until it is known what it is, nothing is removed.
        staging.leave();
        PrivateDir::check(staging.dir(), staging.path()).map_err(failed)?;
        let place = WorkdirPlace::of(workdir).map_err(failed)?;
        {
            let locked = self.lock_workdir(place.inode);
            let _lock = locked.map_err(|error| match error {
                LockError::Busy => CommitError::Busy { seconds },
                LockError::Io(error) => failed(error),
            })?;
            let taken_back = take_back_unfinished(staging.dir(), &workdir.dir);
            taken_back.map_err(|reason| failed(io::Error::other(reason)))?;
        }
        let set = read_list(staging.dir(), workdir, &place, digest).map_err(failed)?;
        let set = set.ok_or(HeldError::Changed)?;
        let clock = CommitClock::start(options.time);
        match staging.try_commit(workdir, (&set, &FileChanges::default()), options, clock) {
            Ok(Committed { undo }) => Ok(undo),
            Err(error) => {
                if matches!(error, CommitError::Conflict { .. }) {
                    staging.drop_with_contents();
                }
                Err(error.into())
            }
        }
    }
}

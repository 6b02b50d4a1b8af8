//! Ends the transaction of a workdir handle.

use toolhost_contract::FileChanges;

use super::Workdir;
use super::staging::{
    CommitClock, CommitError, CommitOptions, CommitTurn, HeldChanges, StagingError,
};

/// What a transaction changed in its workdir.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkdirCommit {
    /// The files, with the digests of those that were created or changed. At most 1,000.
    pub changes: FileChanges,
    /// The id of the undo record, which [`StagingRoot::undo`](super::StagingRoot::undo) takes. None if nothing was changed, or the limits
    /// allow no record of its size.
    pub undo: Option<String>,
}

impl Workdir {
    /// Makes the changes of a [transaction](Self::transactional) in the directory: all of them, or none. Calls
    /// that have a handle of it can change nothing afterwards. Does nothing for other handles. Blocks for as
    /// long as reading the changed files and the renames take, until the first rename for [`CommitOptions::time`]
    /// at most.
    ///
    /// A transaction that changed nothing conflicts with nothing, whatever it read.
    ///
    /// # Errors
    /// [`CommitError`]. The changes are dropped.
    pub fn commit(&self, options: &CommitOptions) -> Result<WorkdirCommit, CommitError> {
        let Some(overlay) = self.overlay() else {
            return Ok(WorkdirCommit::default());
        };
        let clock = CommitClock::start(options.time);
        let set = overlay.change_set(&clock)?;
        let changes = if set.ops.is_empty() {
            FileChanges::default()
        } else if options.diffs {
            overlay.changes_with_diffs(&self.handle.dir, &clock)?
        } else {
            overlay.changes(&clock)?
        };
        let staging = overlay.take_staging();
        let Some(staging) =
            staging.map_err(|errno| CommitError::failed("reading the changes", errno))?
        else {
            return Ok(WorkdirCommit::default());
        };
        if set.ops.is_empty() {
            return Ok(WorkdirCommit::default());
        }
        let committed = staging.commit(self, (&set, &changes), options, clock)?;
        overlay.usage().committed();
        Ok(WorkdirCommit {
            changes,
            undo: committed.undo,
        })
    }

    /// Returns what a [transaction](Self::transactional) has changed so far.
    ///
    /// # Errors
    /// [`CommitError`].
    pub fn staged_changes(&self, options: &CommitOptions) -> Result<FileChanges, CommitError> {
        match self.overlay() {
            Some(overlay) => overlay.changes(&CommitClock::start(options.time)),
            None => Ok(FileChanges::default()),
        }
    }

    /// Checks the changes of a [transaction](Self::transactional) as [`commit`](Self::commit) does, and keeps them in
    /// the state root until they are [committed](super::StagingRoot::commit_held). Calls that have a handle of it can
    /// change nothing afterwards. Returns none if there are none.
    ///
    /// # Errors
    /// [`CommitError`]. The changes are dropped.
    pub fn hold(&self, options: &CommitOptions) -> Result<Option<HeldChanges>, CommitError> {
        let Some(overlay) = self.overlay() else {
            return Ok(None);
        };
        let clock = CommitClock::start(options.time);
        let set = overlay.change_set(&clock)?;
        let listed = overlay.differences(&self.handle.dir, &clock)?;
        let staging = overlay.take_staging();
        let staging = staging.map_err(|errno| CommitError::failed("reading the changes", errno))?;
        match staging {
            Some(staging) if !set.ops.is_empty() => {
                staging.hold(self, &set, listed, options, &clock).map(Some)
            }
            Some(_) | None => Ok(None),
        }
    }

    /// Waits, without a thread, until no other commit of this process to the directory runs; the next one waits
    /// until the turn is dropped. Returns none for handles that are no [transaction](Self::transactional).
    /// [`commit`](Self::commit) needs no turn: without one, it waits for other commits on its thread.
    pub async fn commit_turn(&self) -> Option<CommitTurn> {
        self.overlay()?.commit_turn().await
    }

    /// Returns whether a [transaction](Self::transactional) has staged anything, which a commit makes or drops; of a
    /// [part](Self::part), whether its calls have begun to change anything. Costs nothing.
    pub fn has_staged(&self) -> bool {
        self.overlay().is_some_and(|overlay| overlay.has_changed())
    }

    /// Drops the changes of a [transaction](Self::transactional) now, and not with its last handle. Blocks for
    /// as long as removing the staged files takes.
    pub fn drop_changes(&self) {
        if let Some(overlay) = self.overlay() {
            // If a file call of the transaction hangs, they are dropped when it returns.
            drop(overlay.take_staging());
        }
    }

    /// Returns why the changes of a [transaction](Self::transactional) could not be kept apart, if so: its calls
    /// got an error number only.
    pub fn transaction_failure(&self) -> Option<StagingError> {
        self.overlay()?.take_failure()
    }
}

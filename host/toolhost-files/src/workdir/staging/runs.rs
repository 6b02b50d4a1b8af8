//! Several runs of one call, of which one commits: a call that was sent to a worker is sent again if the worker dies, and a
//! worker that was only slow may come back.
//!
//! `{staging root}/runs/{id of the call}` says which run may commit, and what has become of it. It is read and written
//! under the lock of the workdir. The staging directory of a commit has the id of its call in the file `run`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use toolhost_contract::{FileChanges, WorkerCallId};

use super::contents::{make_dir, names, open_dir};
use super::error::{CommitError, StagingError};
use super::journal::Progress;
use super::plan::WorkdirPlace;
use super::recovery::finish_dead;
use super::root::{LOCK_WAIT, LockError, StagingRoot, inode_of};
use super::step::{Step, reach};
use crate::PrivateFile;
use crate::workdir::WorkdirHandle;

/// Name of the directory in the staging root.
const DIR: &str = "runs";

/// Name of the file in the staging directory of a commit, which no staged file has.
const NAME: &str = "run";

/// Name of a file until it is written.
const NEW_NAME: &str = ".new";

/// Most bytes of a file: the note of a call is its result.
const BYTES_MAX: u64 = 160 << 20;

/// Age at which a file may be removed.
const AGE_MAX: Duration = Duration::from_secs(60 * 60);

/// Of all runs of a call, the commit of one.
#[derive(Clone)]
pub struct CommitRun {
    /// The call.
    pub call: WorkerCallId,
    /// The run: see [`StagingRoot::begin_run`]. 1 for the first.
    pub run: u64,
    /// When it may begin to commit at the latest.
    pub until: Instant,
    /// How long it might have committed when it began: what is noted is kept for twice that time.
    pub life: Duration,
    /// Makes the note that later runs find, of the files that the commit changes.
    pub note: Arc<dyn Fn(&FileChanges) -> String + Send + Sync>,
}

impl std::fmt::Debug for CommitRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommitRun")
            .field("call", &self.call)
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

/// What [`StagingRoot::begin_run`] returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BegunRun {
    /// The number of the run. No run before it can commit any more.
    Begun(u64),
    /// A run before it has committed, with this note.
    Committed(String),
    /// The call has ended: [`StagingRoot::end_runs`].
    Ended,
}

/// What has become of the runs of a call.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct State {
    /// The run that may commit. 0 stands for the first.
    run: u64,
    /// The staging directory of the commit that was begun last.
    staging: Option<String>,
    /// Whether a run has committed. Where it is false, the journal of `staging` tells.
    is_committed: bool,
    /// For how long it is kept at least, in seconds.
    #[serde(default)]
    life: u64,
    /// Whether no run may commit any more.
    #[serde(default)]
    is_ended: bool,
    /// The note of the commit.
    note: String,
}

impl StagingRoot {
    /// Begins another run of a call, after which no run before it commits. Waits until a commit to the workdir that runs has
    /// ended, in any process. Blocks. `life` is that of the [runs](CommitRun::life).
    ///
    /// # Errors
    /// [`CommitError::Busy`] if that takes longer than 10 s, and others where the staging root cannot be used.
    pub fn begin_run(
        &self,
        workdir: &WorkdirHandle,
        call: &WorkerCallId,
        life: Duration,
    ) -> Result<BegunRun, CommitError> {
        self.next_run(workdir, call, life, false)
    }

    /// Ends a call: none of its runs commits any more. Returns the note of the run that has committed, if one has. Waits as
    /// [`begin_run`](Self::begin_run) does.
    ///
    /// # Errors
    /// As for [`begin_run`](Self::begin_run).
    pub fn end_runs(
        &self,
        workdir: &WorkdirHandle,
        call: &WorkerCallId,
        life: Duration,
    ) -> Result<Option<String>, CommitError> {
        match self.next_run(workdir, call, life, true)? {
            BegunRun::Committed(note) => Ok(Some(note)),
            BegunRun::Begun(_) | BegunRun::Ended => Ok(None),
        }
    }

    fn next_run(
        &self,
        workdir: &WorkdirHandle,
        call: &WorkerCallId,
        life: Duration,
        ends: bool,
    ) -> Result<BegunRun, CommitError> {
        let failed = |error: io::Error| CommitError::failed("beginning a run", error);
        let inode = inode_of(&workdir.dir).map_err(|errno| failed(errno.into()))?;
        let _lock = self.lock_workdir(inode).map_err(|error| match error {
            LockError::Busy => CommitError::Busy {
                seconds: LOCK_WAIT.as_secs(),
            },
            LockError::Io(error) => failed(error),
        })?;
        let place = WorkdirPlace::of(workdir).map_err(failed)?;
        finish_dead(self, &workdir.dir, &place).map_err(|errno| failed(errno.into()))?;
        let mut state = self.runs_of(call).map_err(failed)?;
        if self.has_committed(&state) {
            return Ok(BegunRun::Committed(state.note));
        }
        if state.is_ended {
            return Ok(BegunRun::Ended);
        }
        state.is_ended = ends;
        state.life = life.as_secs();
        state.run = state.run.max(1).saturating_add(1);
        state.staging = None;
        state.note = String::new();
        self.write_runs(call, &state).map_err(failed)?;
        Ok(BegunRun::Begun(state.run))
    }

    /// Ends a call whose only run has ended, without its note.
    ///
    /// # Errors
    /// Where its file cannot be written.
    pub fn settle_runs(&self, call: &WorkerCallId) -> Result<(), StagingError> {
        let settle = || {
            let mut state = self.runs_of(call)?;
            // Nothing was committed, and nothing else will be within its time.
            state.is_ended = true;
            state.note = String::new();
            self.write_runs(call, &state)
        };
        settle().map_err(|error| self.failed(error))
    }

    /// Forgets the runs of calls of which no run may commit any more. Blocks.
    ///
    /// # Errors
    /// Where the staging root cannot be read.
    pub fn forget_old_runs(&self) -> io::Result<()> {
        let dir = match open_dir(self.dir(), DIR) {
            Ok(dir) => dir,
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        let oldest = SystemTime::now().checked_sub(AGE_MAX);
        for (name, is_dir) in names(&dir)? {
            let Ok(name) = name.to_str() else { continue };
            let modified = dir.symlink_metadata(name)?.modified()?.into_std();
            if is_dir || oldest.is_none_or(|oldest| modified >= oldest) {
                continue;
            }
            let state = read(&dir, name, BYTES_MAX).ok().flatten();
            let state = state.and_then(|text| serde_json::from_slice::<State>(&text).ok());
            let life = Duration::from_secs(state.map_or(0, |state| state.life)).saturating_mul(2);
            if modified.elapsed().is_ok_and(|age| age > life) {
                unlinkat(&dir, name, AtFlags::empty())?;
            }
        }
        Ok(())
    }

    /// Checks that a run may commit. Called under the lock of the workdir, when the commits of dead processes were taken back.
    pub(super) fn check_run(&self, run: &CommitRun) -> Result<(), CommitError> {
        let state = self.runs_of(&run.call);
        let state = state.map_err(|error| CommitError::failed("noting the run", error))?;
        if self.has_committed(&state) {
            return Err(CommitError::Committed { note: state.note });
        }
        if state.is_ended || state.run.max(1) > run.run || Instant::now() > run.until {
            return Err(CommitError::Superseded);
        }
        Ok(())
    }

    /// Notes that a run begins to commit, after [`check_run`](Self::check_run) under the same lock.
    pub(super) fn begin_commit(
        &self,
        run: &CommitRun,
        changes: &FileChanges,
        (id, dir): (&str, &Dir),
    ) -> Result<(), CommitError> {
        let failed = |error: io::Error| CommitError::failed("noting the run", error);
        write(dir, NAME, run.call.as_str().as_bytes()).map_err(failed)?;
        let state = State {
            run: run.run,
            staging: Some(id.to_owned()),
            is_committed: false,
            is_ended: false,
            life: run.life.as_secs(),
            note: (run.note)(changes),
        };
        self.write_runs(&run.call, &state).map_err(failed)?;
        reach(Step::RunNoted).map_err(failed)
    }

    /// Notes that the commit in a staging directory has ended, before the directory is removed. Called under the lock of the
    /// workdir.
    pub(super) fn note_committed(&self, id: &str, dir: &Dir) -> io::Result<()> {
        let call = match read(dir, NAME, 64)? {
            Some(call) => call,
            None => return Ok(()),
        };
        let call = String::from_utf8(call).ok();
        let call = call.and_then(|call| WorkerCallId::parse(&call).ok());
        let Some(call) = call else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let mut state = self.runs_of(&call)?;
        if state.staging.as_deref() == Some(id) && !state.is_committed {
            state.is_committed = true;
            self.write_runs(&call, &state)?;
        }
        Ok(())
    }

    /// Whether a run has committed, when unfinished commits were taken back.
    fn has_committed(&self, state: &State) -> bool {
        let of_journal = || {
            let id = state.staging.as_deref()?;
            self.progress(id)
        };
        state.is_committed || matches!(of_journal(), Some(Progress::Committed(_)))
    }

    fn runs(&self) -> io::Result<Dir> {
        Ok(make_dir(self.dir(), DIR)?)
    }

    fn runs_of(&self, call: &WorkerCallId) -> io::Result<State> {
        match read(&self.runs()?, call.as_str(), BYTES_MAX)? {
            Some(text) => Ok(serde_json::from_slice(&text)?),
            None => Ok(State::default()),
        }
    }

    fn write_runs(&self, call: &WorkerCallId, state: &State) -> io::Result<()> {
        write(&self.runs()?, call.as_str(), &serde_json::to_vec(state)?)
    }
}

/// Reads a private file. None where there is none.
fn read(dir: &Dir, name: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match PrivateFile::open_in(dir, name, Path::new(name), OFlags::RDONLY) {
        Ok(file) => file.into_file(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Some(bytes))
}

/// Replaces a private file in one step.
fn write(dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let new = format!("{name}{NEW_NAME}");
    // One that a dead process left.
    let _ = unlinkat(dir, &new, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(dir, &new, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(bytes)?;
    Ok(renameat(dir, &new, dir, name)?)
}

//! A run of a call that may run again elsewhere: its commit is the only one of the call.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use toolhost_contract::{FileChanges, Redactor, ToolResult, WorkerCallId};
use toolhost_runtime::lock;
use toolhost_sandbox::{CommitError, CommitRun};

/// Makes the note of a commit, which later runs of the call return, of the result that the call will have.
pub(crate) type NoteOf = Arc<dyn Fn(ToolResult) -> String + Send + Sync>;

/// Time beyond its deadline in which a run may commit.
const MARGIN: Duration = Duration::from_secs(600);

/// The fence of one run.
#[derive(Clone)]
pub(crate) struct Fence {
    call: WorkerCallId,
    run: u64,
    until: Instant,
    life: Duration,
    note: NoteOf,
    end: Arc<Mutex<Option<FenceEnd>>>,
}

/// Why a run did not commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FenceEnd {
    /// A later run has begun.
    Superseded,
    /// Another run has committed, with this note.
    Committed(String),
}

/// Returns how long a run may commit.
pub(crate) fn run_life(deadline: Duration) -> Duration {
    deadline.saturating_add(MARGIN)
}

impl Fence {
    /// `run` is 1 for the first run of a call. It commits within its deadline and some minutes, or not at all: what is noted of the
    /// call is then forgotten.
    pub(crate) fn new(call: WorkerCallId, run: u64, deadline: Duration, note: NoteOf) -> Self {
        let life = run_life(deadline);
        let now = Instant::now();
        Self {
            call,
            run,
            until: now.checked_add(life).unwrap_or(now),
            life,
            note,
            end: Arc::default(),
        }
    }

    /// Returns what a commit needs. `result` is what the call will have, without the files that it changes.
    pub(super) fn commit_run(&self, result: ToolResult, redactor: &Redactor) -> CommitRun {
        let (note, redactor) = (Arc::clone(&self.note), redactor.clone());
        let of_changes = move |changes: &FileChanges| {
            let mut usage = result.usage().clone();
            usage.changes = changes.clone();
            redactor.changes(&mut usage.changes);
            note(result.clone().with_usage(usage))
        };
        CommitRun {
            call: self.call.clone(),
            run: self.run,
            until: self.until,
            life: self.life,
            note: Arc::new(of_changes),
        }
    }

    /// Keeps why the run did not commit, if another run of the call is why.
    pub(super) fn keep(&self, error: &CommitError) {
        if let CommitError::Committed { note } = error {
            *lock(&self.end) = Some(FenceEnd::Committed(note.clone()));
        } else if let CommitError::Superseded = error {
            *lock(&self.end) = Some(FenceEnd::Superseded);
        }
    }

    /// Takes why the run did not commit; none if no other run is why.
    pub(crate) fn take_end(&self) -> Option<FenceEnd> {
        lock(&self.end).take()
    }
}

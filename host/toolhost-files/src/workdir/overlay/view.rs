//! The state of one transaction, and when its staging directory is made.

use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use cap_std::fs::Dir;
use rustix::io::Errno;
use toolhost_contract::FileId;
use toolhost_runtime::{DeadlineGuard, DeadlineMutex, debug_fields, lock};

use super::state::State;
use crate::accounting::call_memory::CallMemory;
use crate::workdir::handle::WorkdirHandle;
use crate::workdir::identity::id_of;
use crate::workdir::staging::{CommitTurn, Shortage, Staging, StagingError, StagingRoot};
use crate::workdir::usage::WorkdirUsage;

/// The merged view of one transaction, as one call has it, or the host.
pub(crate) struct Overlay {
    shared: Arc<Shared>,
    /// When whoever has it stops to wait for another call. None for the host.
    ends: Option<Instant>,
    /// The part of the transaction that it changes. None for the whole.
    part: Option<Arc<Part>>,
}

/// A part of a transaction.
struct Part {
    /// Whether a change of it was begun.
    has_changed: AtomicBool,
    /// The part that it is a part of.
    of: Option<Arc<Part>>,
}

/// What the calls of a transaction share.
pub(crate) struct Shared {
    pub(super) lower: Arc<Dir>,
    pub(super) device: u64,
    /// The workdir without the transaction, for the staging directory.
    workdir: WorkdirHandle,
    staging: StagingRoot,
    /// Counts what the transaction adds; gives it back when it is dropped without having been committed.
    usage: WorkdirUsage,
    /// Whether anything was changed.
    is_active: AtomicBool,
    /// Held while paths are walked and files are copied, which may hang.
    state: DeadlineMutex<State>,
    failure: Mutex<Option<StagingError>>,
}

impl Deref for Overlay {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

debug_fields!(Overlay);

impl Overlay {
    /// A transaction on a workdir. The staging directory is made by the first change.
    ///
    /// # Errors
    /// Those of reading the metadata of the workdir.
    pub(crate) fn new(workdir: &WorkdirHandle, staging: &StagingRoot) -> Result<Self, io::Error> {
        let device = match workdir.mount.get() {
            Some((device, _)) => *device,
            None => id_of(&*workdir.dir)?.device,
        };
        let shared = Shared {
            lower: Arc::clone(&workdir.dir),
            device,
            usage: workdir.usage.transaction(),
            workdir: workdir.clone(),
            staging: staging.clone(),
            is_active: AtomicBool::new(false),
            state: DeadlineMutex::default(),
            failure: Mutex::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
            ends: None,
            part: None,
        })
    }

    /// The same view for a call with this deadline.
    pub(crate) fn until(&self, ends: Option<Instant>) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            ends,
            part: self.part.clone(),
        }
    }

    /// The same view, whose changes are a part of this one's.
    pub(crate) fn part(&self) -> Self {
        let part = Part {
            has_changed: AtomicBool::new(false),
            of: self.part.clone(),
        };
        Self {
            shared: Arc::clone(&self.shared),
            ends: self.ends,
            part: Some(Arc::new(part)),
        }
    }

    /// Counts the memory of what the transaction holds from now on for a call.
    pub(crate) fn charge_to(&self, memory: Arc<CallMemory>) {
        // Where another call keeps it locked until the deadline, this one can change nothing.
        if let Ok(mut state) = self.lock() {
            state.charge_to(memory);
        }
    }

    /// The counters of the calls of the transaction.
    pub(crate) fn usage(&self) -> &WorkdirUsage {
        &self.usage
    }

    /// Whether this is the handle of the workdir itself.
    pub(crate) fn is_root(&self, dir: &Dir) -> bool {
        std::ptr::eq(dir, &*self.lower)
    }

    /// Whether anything was changed. Until then, the kernel resolves paths.
    pub(crate) fn is_active(&self) -> bool {
        self.is_active.load(Relaxed)
    }

    /// Whether a change of its part was begun, or of a part of that; of the whole, whether anything was changed.
    pub(crate) fn has_changed(&self) -> bool {
        let part = self.part.as_ref();
        part.map_or_else(|| self.is_active(), |part| part.has_changed.load(Relaxed))
    }

    /// Waits until no other commit of this process to the workdir runs.
    pub(crate) async fn commit_turn(&self) -> Option<CommitTurn> {
        self.staging.commit_turn(&self.lower).await
    }

    /// Takes the staging directory for a commit. None if nothing was changed. No call can change anything
    /// afterwards.
    ///
    /// # Errors
    /// Those of [`lock`](Self::lock).
    pub(crate) fn take_staging(&self) -> Result<Option<Staging>, Errno> {
        let mut state = self.lock()?;
        state.is_closed = true;
        Ok(state.staging.take())
    }

    /// Returns why the staging directory could not be made, if so: the calls of the transaction got an error
    /// number only.
    pub(crate) fn take_failure(&self) -> Option<StagingError> {
        lock(&self.failure).take()
    }

    /// Locks the state.
    ///
    /// # Errors
    /// `EBUSY` if a file call of another call still holds it at the deadline: it hangs.
    pub(super) fn lock(&self) -> Result<DeadlineGuard<'_, State>, Errno> {
        self.state.lock(self.ends).ok_or(Errno::BUSY)
    }

    /// Notes a change of its part.
    pub(super) fn note_change(&self) {
        let parts = std::iter::successors(self.part.as_ref(), |part| part.of.as_ref());
        parts.for_each(|part| part.has_changed.store(true, Relaxed));
    }

    /// Locks the state for a change, with a staging directory.
    ///
    /// # Errors
    /// `ENOMEM` where the transaction holds more memory than its call may use.
    pub(super) fn change(&self) -> Result<DeadlineGuard<'_, State>, Errno> {
        let mut state = self.lock()?;
        if state.is_closed {
            return Err(Errno::ROFS);
        }
        state.take_memory()?;
        self.note_change();
        if state.staging.is_none() {
            match Staging::create(&self.staging, &self.workdir) {
                Ok(staging) => state.staging = Some(staging),
                Err(error) => {
                    match error.shortage() {
                        Some(Shortage::Disk) => return Err(Errno::NOSPC),
                        // WASI has no code for too many open files.
                        Some(Shortage::Descriptors) => return Err(Errno::NOMEM),
                        None => {}
                    }
                    tracing::warn!(%error, "a transaction could not make its staging directory");
                    state.is_closed = true;
                    *lock(&self.failure) = Some(error);
                    return Err(Errno::IO);
                }
            }
            self.is_active.store(true, Relaxed);
        }
        Ok(state)
    }

    /// Returns the identity that guests know a file by: of a staged copy, that of the lower file.
    pub(crate) fn identity(&self, id: FileId) -> Result<FileId, Errno> {
        Ok(self.lock()?.identity(id))
    }

    /// Whether an open directory lies in the lower layer, so that its own attributes cannot be changed.
    pub(crate) fn is_lower_dir(&self, id: FileId) -> Result<bool, Errno> {
        Ok(!self.lock()?.is_staged(id))
    }
}

//! Admits calls: at most `live_calls` run at once, and others wait until it is their turn.
//!
//! An instance needs a slot of a pool whether its call runs or is parked. The pool therefore has slots
//! for all running and parked calls, and for calls that hang in a file call. No call waits for a slot of
//! the pool: a call that would be parked beyond `parked_calls` fails instead.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;
use toolhost_runtime::{Clock, ComponentId, Quota, lock};

use crate::SandboxError;
use crate::scheduler::epoch::EpochTicker;
use crate::scheduler::queue::{Purpose, WaitQueue, WaiterId};

/// Most calls that hang in a file call after their deadline, shared between components as all resources
/// are. Each keeps a slot of the pool, a thread and its memory.
pub(crate) const MAX_HANGING: usize = 32;

/// Bytes of guest memory that must be free before a call starts. With less, most calls would only fail.
const BYTES_TO_START: u64 = 16 << 20;

/// How many calls may run, wait and be parked: fields of [`SandboxConfig`](crate::SandboxConfig).
pub(crate) struct AdmissionLimits {
    pub(crate) live_calls: u32,
    pub(crate) parked_calls: u32,
    pub(crate) share_per_free: u32,
    pub(crate) waiting_calls: usize,
    pub(crate) queueing: Duration,
}

/// What the calls of a sandbox hold while they run, are parked or hang.
pub(crate) struct Admission {
    queue: Mutex<WaitQueue<oneshot::Sender<Permit>>>,
    memory: Arc<Quota>,
    pub(super) parked: Arc<Quota>,
    pub(super) hanging: Arc<Quota>,
    pub(super) epoch: EpochTicker,
    clock: Clock,
    queueing: Duration,
}

impl Admission {
    pub(crate) fn new(
        limits: &AdmissionLimits,
        memory: Arc<Quota>,
        epoch: EpochTicker,
        clock: Clock,
    ) -> Self {
        let share = limits.share_per_free;
        let waiting = limits.waiting_calls as u64;
        let queue = WaitQueue::new(limits.live_calls.into(), waiting, share);
        Self {
            queue: Mutex::new(queue),
            memory,
            parked: Arc::new(Quota::new(limits.parked_calls.into(), share)),
            hanging: Arc::new(Quota::new(MAX_HANGING as u64, share)),
            epoch,
            clock,
            queueing: limits.queueing,
        }
    }

    /// Calls that could start now.
    pub(crate) fn free(&self) -> usize {
        count(lock(&self.queue).free())
    }

    /// Calls that wait to start.
    pub(crate) fn waiting(&self) -> usize {
        count(lock(&self.queue).waiting())
    }

    /// Calls that are parked.
    pub(crate) fn parked(&self) -> usize {
        count(self.parked.held())
    }

    /// Calls that hang in a file call.
    pub(crate) fn hanging(&self) -> usize {
        count(self.hanging.held())
    }

    /// Whether one more call of a component may hang in a file call.
    pub(crate) fn may_hang(&self, component: ComponentId) -> bool {
        self.hanging.would_grant(component, 1)
    }

    /// Waits for the permit to start a call, for at most `queueing`.
    pub(super) async fn start(
        self: &Arc<Self>,
        component: ComponentId,
    ) -> Result<Permit, SandboxError> {
        if let Some(permit) = self.try_take(component, Purpose::Start) {
            return Ok(permit);
        }
        let wait = self.wait(component, Purpose::Start);
        let permit = self.clock.within(self.queueing, wait).await;
        permit.unwrap_or(Err(SandboxError::Busy {
            reason: "no call slot became free in time",
        }))
    }

    /// Waits for the permit to resume a parked call. At most one call that waits to start is before it.
    pub(super) async fn resume(
        self: &Arc<Self>,
        component: ComponentId,
    ) -> Result<Permit, SandboxError> {
        match self.try_take(component, Purpose::Resume) {
            Some(permit) => Ok(permit),
            None => self.wait(component, Purpose::Resume).await,
        }
    }

    fn try_take(self: &Arc<Self>, component: ComponentId, purpose: Purpose) -> Option<Permit> {
        let has_memory = || self.has_memory(component);
        let taken = lock(&self.queue).try_take(component, purpose, has_memory);
        taken.then(|| self.permit(component))
    }

    async fn wait(
        self: &Arc<Self>,
        component: ComponentId,
        purpose: Purpose,
    ) -> Result<Permit, SandboxError> {
        let (waiter, granted) = oneshot::channel();
        let id = lock(&self.queue).enter(component, purpose, waiter)?;
        let _guard = WaitGuard {
            admission: self,
            id,
        };
        // What this call waits for may have become free before it entered the queue.
        self.grant_waiters();
        granted.await.map_err(|_| SandboxError::HostPanic)
    }

    /// Grants permits to all waiters that may have one now.
    pub(super) fn grant_waiters(self: &Arc<Self>) {
        let next = || lock(&self.queue).next(|component| self.has_memory(component));
        while let Some((component, waiter)) = next() {
            // Not under the lock: if the waiter is gone, the permit is dropped here.
            let _ = waiter.send(self.permit(component));
        }
    }

    fn has_memory(&self, component: ComponentId) -> bool {
        self.memory.would_grant(component, BYTES_TO_START)
    }

    fn permit(self: &Arc<Self>, component: ComponentId) -> Permit {
        Permit {
            admission: Arc::clone(self),
            component,
        }
    }
}

fn count(calls: u64) -> usize {
    usize::try_from(calls).unwrap_or(usize::MAX)
}

/// Lets one call run, until dropped.
pub(super) struct Permit {
    admission: Arc<Admission>,
    component: ComponentId,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut queue = lock(&self.admission.queue);
        queue.give_back(self.component);
        let has_waiters = queue.has_waiters();
        drop(queue);
        // A call that enters the queue later takes what is free by itself.
        if has_waiters {
            self.admission.grant_waiters();
        }
    }
}

/// Removes a waiter from the queue when dropped.
struct WaitGuard<'a> {
    admission: &'a Admission,
    id: WaiterId,
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        lock(&self.admission.queue).leave(self.id);
    }
}

//! What one call holds of its sandbox: whether it runs, is parked or hangs.
//!
//! A running call holds a permit. While it waits for another agent it is parked: it keeps its instance,
//! gives back its permit, and takes one again before it resumes. Calls that wait for each other can
//! therefore nest deeper than `live_calls`.

use std::sync::{Arc, Mutex};

use toolhost_runtime::{ComponentId, QuotaGuard, lock};

use crate::SandboxError;
use crate::scheduler::admission::{Admission, Permit};
use crate::scheduler::epoch::EpochGuard;

/// Held from before a call's instance is made until after it is gone.
pub(crate) struct CallSlot {
    admission: Arc<Admission>,
    component: ComponentId,
    state: Mutex<SlotState>,
}

enum SlotState {
    Running {
        _permit: Permit,
        _epoch: EpochGuard,
    },
    Parked {
        _quota: QuotaGuard,
        _wake: WakeWaiters,
    },
    /// The call was answered at its deadline while a file call of its guest had not returned.
    Hanging {
        _quota: QuotaGuard,
        /// Ends the guest once the file call returns.
        _epoch: EpochGuard,
    },
}

/// Wakes calls that wait for memory. A parked call that ends frees its memory before this is dropped.
struct WakeWaiters(Arc<Admission>);

impl Drop for WakeWaiters {
    fn drop(&mut self) {
        self.0.grant_waiters();
    }
}

/// No more calls can be parked, of this component or at all.
#[derive(Debug)]
pub(crate) struct TooManyParked;

impl CallSlot {
    /// Waits until the call may start.
    pub(crate) async fn acquire(
        admission: &Arc<Admission>,
        component: ComponentId,
    ) -> Result<Self, SandboxError> {
        let permit = admission.start(component).await?;
        Ok(Self {
            state: Mutex::new(SlotState::running(permit, admission)),
            admission: Arc::clone(admission),
            component,
        })
    }

    /// Gives back the permit until [`resume`](Self::resume).
    pub(crate) fn park(&self) -> Result<(), TooManyParked> {
        let quota = self.admission.parked.hold(self.component, 1);
        self.set(SlotState::Parked {
            _quota: quota.ok_or(TooManyParked)?,
            _wake: WakeWaiters(Arc::clone(&self.admission)),
        });
        Ok(())
    }

    /// Whether the call waits for another agent or tool.
    pub(crate) fn is_parked(&self) -> bool {
        matches!(*lock(&self.state), SlotState::Parked { .. })
    }

    /// Waits for a permit again. The call's own deadline bounds the wait.
    pub(crate) async fn resume(&self) -> Result<(), SandboxError> {
        let permit = self.admission.resume(self.component).await?;
        self.set(SlotState::running(permit, &self.admission));
        Ok(())
    }

    /// Gives back the permit of a call whose file call hangs. Keeps it where
    /// [`MAX_HANGING`](super::admission::MAX_HANGING) calls hang already, or its component's share of them.
    pub(crate) fn hang(&self) {
        let quota = self.admission.hanging.hold(self.component, 1);
        if let Some(quota) = quota {
            self.set(SlotState::Hanging {
                _quota: quota,
                _epoch: self.admission.epoch.start(),
            });
        }
        tracing::warn!(
            hanging = self.admission.hanging(),
            "a file call did not return by its tool's deadline: the workdir's file system hangs"
        );
    }

    /// Drops the previous state outside the lock, as that grants permits to others.
    fn set(&self, state: SlotState) {
        let previous = std::mem::replace(&mut *lock(&self.state), state);
        drop(previous);
    }
}

impl SlotState {
    fn running(permit: Permit, admission: &Admission) -> Self {
        Self::Running {
            _permit: permit,
            _epoch: admission.epoch.start(),
        }
    }
}

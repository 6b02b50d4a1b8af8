//! Calls on a thread of their own, where a file call may hang without delaying any other call.

use std::future::Future;
use std::sync::Weak;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use toolhost_runtime::{ComponentId, Threads, in_turns, spawn_blocking};

use crate::SandboxError;
use crate::scheduler::call_slot::CallSlot;

/// Time beyond its deadline in which a call may still report the timeout itself.
const GRACE: Duration = Duration::from_millis(20);

/// A call on a thread of its own.
pub(crate) struct OwnThread {
    pub(crate) component: ComponentId,
    pub(crate) deadline: Duration,
    pub(crate) slot: Weak<CallSlot>,
}

impl OwnThread {
    /// Runs the call and answers at its deadline, even while a file call hangs. Dropping the future ends
    /// the guest as soon as no file call holds its thread.
    pub(crate) async fn run<T: Send + 'static>(
        self,
        call: impl Future<Output = Result<T, SandboxError>> + Send + 'static,
        threads: &Threads,
    ) -> Result<T, SandboxError> {
        let deadline = self.deadline;
        let time = deadline.saturating_add(GRACE);
        let spawned = self.spawn(call, threads);
        let done = threads.clock().within(time, spawned).await;
        done.unwrap_or_else(|| {
            // The call holds its slot until the file call returns.
            if let Some(slot) = self.slot.upgrade() {
                slot.hang();
            }
            Err(SandboxError::Timeout { deadline })
        })
    }

    async fn spawn<T: Send + 'static>(
        &self,
        call: impl Future<Output = Result<T, SandboxError>> + Send + 'static,
        threads: &Threads,
    ) -> Result<T, SandboxError> {
        // The sender is dropped with this future, which ends the guest.
        let (_alive, mut dropped) = oneshot::channel::<()>();
        let handle = threads.handle().clone();
        let (queue, component) = (threads.run_queue().clone(), self.component);
        let ends = Instant::now().checked_add(self.deadline);
        let task = spawn_blocking(threads.handle(), move || {
            handle.block_on(async {
                tokio::select! {
                    biased;
                    _ = &mut dropped => Err(SandboxError::HostPanic),
                    done = in_turns(call, &queue, component, ends) => done,
                }
            })
        });
        task?.await.map_err(|_| SandboxError::HostPanic)?
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use super::*;
    use crate::scheduler::admission::{Admission, AdmissionLimits, MAX_HANGING};
    use crate::scheduler::epoch::EpochTicker;
    use toolhost_runtime::ComponentId;
    use toolhost_runtime::Quota;

    /// A call of a component whose file call hangs until `ends` receives something.
    async fn hang(
        admission: &Arc<Admission>,
        threads: &Threads,
        component: ComponentId,
        ends: mpsc::Receiver<()>,
    ) -> Result<(), SandboxError> {
        let slot = Arc::new(CallSlot::acquire(admission, component).await?);
        let thread = OwnThread {
            component,
            deadline: Duration::from_millis(100),
            slot: Arc::downgrade(&slot),
        };
        let file_call = async move {
            let _slot = slot;
            let _ended = ends.recv();
            Err(SandboxError::HostPanic)
        };
        let call = threads.clock().drive(Box::pin(file_call));
        thread.run(call, threads).await
    }

    fn admission(live_calls: u32) -> (Threads, Arc<Admission>) {
        let limits = AdmissionLimits {
            live_calls,
            parked_calls: 256,
            share_per_free: 3,
            waiting_calls: 16_384,
            queueing: Duration::from_secs(30),
        };
        let threads = Threads::start(64).unwrap();
        let memory = Arc::new(Quota::new(u64::MAX, 3));
        let epoch = EpochTicker::spawn(wasmtime::Engine::default().weak()).unwrap();
        let admission = Admission::new(&limits, memory, epoch, threads.clock().clone());
        (threads, Arc::new(admission))
    }

    #[tokio::test]
    async fn a_call_that_hangs_in_a_file_call_is_counted_and_its_slot_is_free() {
        let (threads, admission) = admission(2);
        let mut ends = Vec::new();
        for hanging in 1..=MAX_HANGING + 1 {
            let (end, ended) = mpsc::channel();
            ends.push(end);
            let component = ComponentId(hanging as u64);
            let answer = hang(&admission, &threads, component, ended).await;
            assert!(matches!(answer, Err(SandboxError::Timeout { .. })));
            // The first call beyond the limit keeps its permit.
            let free = if hanging > MAX_HANGING { 1 } else { 2 };
            assert_eq!(admission.free(), free, "{hanging}");
            assert_eq!(admission.hanging(), hanging.min(MAX_HANGING));
        }
        drop(ends);
        while admission.hanging() > 0 || admission.free() < 2 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_component_whose_files_hang_leaves_hanging_calls_to_others() {
        let (threads, admission) = admission(8);
        let (hog, other) = (ComponentId(1), ComponentId(2));
        let mut ends = Vec::new();
        while admission.may_hang(hog) {
            let (end, ended) = mpsc::channel();
            ends.push(end);
            let answer = hang(&admission, &threads, hog, ended).await;
            assert!(matches!(answer, Err(SandboxError::Timeout { .. })));
            assert_eq!(admission.hanging(), ends.len());
            assert_eq!(admission.free(), 8);
        }
        assert_eq!(admission.hanging(), MAX_HANGING * 3 / 4);
        assert!(admission.may_hang(other));
        // A call that ran already keeps its permit, so that at most the live calls of a component hang.
        for (component, free) in [(hog, 7), (other, 7)] {
            let (end, ended) = mpsc::channel();
            ends.push(end);
            let answer = hang(&admission, &threads, component, ended).await;
            assert!(matches!(answer, Err(SandboxError::Timeout { .. })));
            assert_eq!(admission.free(), free, "{component:?}");
        }
        assert_eq!(admission.hanging(), MAX_HANGING * 3 / 4 + 1);
        drop(ends);
        while admission.hanging() > 0 || admission.free() < 8 {
            tokio::task::yield_now().await;
        }
    }
}

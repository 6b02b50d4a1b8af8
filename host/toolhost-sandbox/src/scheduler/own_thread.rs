//! Calls on a thread of their own, where a file call may hang without delaying any other call.

use std::future::Future;
use std::sync::Weak;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::SandboxError;
use crate::scheduler::blocking::spawn_blocking;
use crate::scheduler::call_slot::CallSlot;
use crate::scheduler::executor::Executor;

/// Time beyond its deadline in which a call may still report the timeout itself.
const GRACE: Duration = Duration::from_millis(20);

/// Runs a call on a thread of its own and answers at its deadline, even while a file call hangs.
/// Dropping the future ends the guest as soon as no file call holds its thread.
pub(crate) async fn run_on_own_thread<T: Send + 'static>(
    call: impl Future<Output = Result<T, SandboxError>> + Send + 'static,
    executor: &Executor,
    deadline: Duration,
    slot: &Weak<CallSlot>,
) -> Result<T, SandboxError> {
    let time = deadline.saturating_add(GRACE);
    let done = executor.clock.within(time, spawn(call, executor)).await;
    done.unwrap_or_else(|| {
        // The call holds its slot until the file call returns.
        if let Some(slot) = slot.upgrade() {
            slot.hang();
        }
        Err(SandboxError::Timeout { deadline })
    })
}

async fn spawn<T: Send + 'static>(
    call: impl Future<Output = Result<T, SandboxError>> + Send + 'static,
    executor: &Executor,
) -> Result<T, SandboxError> {
    // The sender is dropped with this future, which ends the guest.
    let (_alive, mut dropped) = oneshot::channel::<()>();
    let threads = executor.threads.clone();
    let task = spawn_blocking(&executor.threads, move || {
        threads.block_on(async {
            tokio::select! {
                biased;
                _ = &mut dropped => Err(SandboxError::HostPanic),
                done = call => done,
            }
        })
    });
    task?.await.map_err(|_| SandboxError::HostPanic)?
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use super::*;
    use crate::accounting::quota::Quota;
    use crate::component_id::ComponentId;
    use crate::config::SandboxConfig;
    use crate::scheduler::admission::{Admission, MAX_HANGING};
    use crate::scheduler::epoch::EpochTicker;

    /// A call whose file call hangs until `ends` receives something.
    async fn hang(
        admission: &Arc<Admission>,
        executor: &Executor,
        ends: mpsc::Receiver<()>,
    ) -> Result<(), SandboxError> {
        let slot = Arc::new(CallSlot::acquire(admission, ComponentId(1)).await?);
        let weak = Arc::downgrade(&slot);
        let file_call = async move {
            let _slot = slot;
            let _ended = ends.recv();
            Err(SandboxError::HostPanic)
        };
        let call = executor.clock.drive(file_call);
        run_on_own_thread(call, executor, Duration::from_millis(100), &weak).await
    }

    #[tokio::test]
    async fn a_call_that_hangs_in_a_file_call_is_counted_and_its_slot_is_free() {
        let config = SandboxConfig {
            live_calls: 2,
            ..SandboxConfig::default()
        };
        let executor = Executor::start(64).unwrap();
        let memory = Arc::new(Quota::new(u64::MAX, 3));
        let epoch = EpochTicker::spawn(wasmtime::Engine::default().weak()).unwrap();
        let admission = Admission::new(&config, memory, epoch, executor.clock.clone());
        let admission = Arc::new(admission);
        let mut ends = Vec::new();
        for hanging in 1..=MAX_HANGING + 1 {
            let (end, ended) = mpsc::channel();
            ends.push(end);
            let answer = hang(&admission, &executor, ended).await;
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
}

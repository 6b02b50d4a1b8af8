//! File calls that wait for a disk, each on a thread of its own.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::ComponentId;
use crate::per_component::PerComponent;

/// Most file calls that wait for a disk at once. A component has at most a quarter of them.
pub(crate) const MAX_BLOCKING: usize = 16;

/// Work could not be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// The system has no thread, or the threads have ended.
    #[error("the system has no thread for it")]
    NoThread,
    /// The work panicked.
    #[error("the work panicked")]
    Panicked,
}

/// Runs blocking work on a thread of its own. Tokio panics where the system has none.
pub fn spawn_blocking<T: Send + 'static>(
    threads: &Handle,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, TaskError> {
    catch_unwind(AssertUnwindSafe(|| threads.spawn_blocking(work))).map_err(|_| TaskError::NoThread)
}

/// Runs file calls that wait for a disk.
#[derive(Clone)]
pub struct BlockingPool {
    threads: Handle,
    permits: Arc<Semaphore>,
    components: Arc<PerComponent<Semaphore>>,
}

impl BlockingPool {
    /// Runs them on the threads of a runtime.
    pub fn new(threads: Handle) -> Self {
        Self {
            threads,
            permits: Arc::new(Semaphore::new(MAX_BLOCKING)),
            components: Arc::default(),
        }
    }

    /// Waits for a permit, then for the call. If the future is dropped, the call runs to its end and
    /// holds its permit until then.
    pub async fn run(
        &self,
        component: ComponentId,
        call: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let make = || Semaphore::new(MAX_BLOCKING / 4);
        let component_permit = self.components.get(component, make).acquire_owned().await;
        let component_permit = component_permit.map_err(io::Error::other)?;
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(io::Error::other)?;
        let task = spawn_blocking(&self.threads, move || {
            let done = call();
            drop((component_permit, permit));
            done
        });
        task.map_err(io::Error::other)?
            .await
            .map_err(io::Error::other)?
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::mpsc;
    use std::task::{Context, Waker};
    use std::thread;

    use super::*;

    #[test]
    fn a_slow_file_call_holds_no_thread_but_its_own_and_so_many_go_on_at_once() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let pool = BlockingPool::new(runtime.handle().clone());
        let (started, starts) = mpsc::channel();
        let mut cx = Context::from_waker(Waker::noop());
        let (mut ends, mut calls) = (Vec::new(), Vec::new());
        let mut begin = |of: u64| {
            let (end, ended) = mpsc::channel::<()>();
            let started = started.clone();
            let mut call = Box::pin(pool.run(ComponentId(of), move || {
                started.send((of, thread::current().id())).unwrap();
                ended.recv().map_err(io::Error::other)
            }));
            // If it ran on this thread, this would never return.
            assert!(call.as_mut().poll(&mut cx).is_pending());
            ends.push(end);
            call
        };
        // The last of five calls of one component waits; those of the others do not.
        let mut first = begin(0);
        for of in 0..MAX_BLOCKING as u64 {
            calls.push(begin(of / 4));
        }
        let mut begun = BTreeMap::new();
        for _ in 0..MAX_BLOCKING {
            let (of, thread) = starts.recv().unwrap();
            assert_ne!(thread, thread::current().id());
            *begun.entry(of).or_insert(0) += 1;
        }
        assert_eq!(begun, BTreeMap::from([(0, 4), (1, 4), (2, 4), (3, 4)]));
        let mut other = begin(9);
        // A call whose future was dropped still holds its permit.
        drop(calls);
        assert_eq!(pool.permits.available_permits(), 0);
        for end in &ends {
            // The call that never began has no receiver.
            let _ = end.send(());
        }
        for call in [&mut first, &mut other] {
            runtime.block_on(call).unwrap();
        }
    }
}

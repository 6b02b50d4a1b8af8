//! The tasks of an orchestrator.

use std::sync::Mutex;

use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::Instant;
use toolhost_runtime::lock;

/// A set of tasks. [`Tasks::end`] and [`Tasks::close`] end all of them, and no more can be started.
#[derive(Debug)]
pub(super) struct Tasks {
    runtime: Handle,
    running: Mutex<Option<JoinSet<()>>>,
}

impl Tasks {
    /// Tasks on the runtime of the caller.
    pub(super) fn new() -> Self {
        Self {
            runtime: Handle::current(),
            running: Mutex::new(Some(JoinSet::new())),
        }
    }

    /// Starts a task. Drops it and returns false if the set is closed.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> bool {
        let mut running = lock(&self.running);
        let Some(running) = running.as_mut() else {
            return false;
        };
        // Removes tasks that have ended.
        while running.try_join_next().is_some() {}
        running.spawn_on(task, &self.runtime);
        true
    }

    /// Waits until then for the tasks to end, and aborts the others.
    pub(super) async fn end(&self, until: Instant) {
        let running = lock(&self.running).take();
        let Some(mut running) = running else { return };
        let end = async { while running.join_next().await.is_some() {} };
        // Dropping the set aborts the remaining tasks.
        let _ = tokio::time::timeout_at(until, end).await;
    }

    pub(super) fn close(&self) {
        let running = lock(&self.running).take();
        drop(running);
    }
}

//! The tasks of an orchestrator, which end with it.

use std::sync::Mutex;

use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::lock;

/// Tasks with one owner: [`Tasks::end`] and [`Tasks::close`] end them all,
/// and no more can be started.
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

    /// Starts a task; drops it where the tasks are closed.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut running = lock(&self.running);
        let Some(running) = running.as_mut() else {
            return;
        };
        // What has ended is let go of, so that the set is as large as what runs.
        while running.try_join_next().is_some() {}
        running.spawn_on(task, &self.runtime);
    }

    /// Lets tasks end by themselves until then, and ends the others.
    pub(super) async fn end(&self, until: Instant) {
        let running = lock(&self.running).take();
        let Some(mut running) = running else { return };
        let all = async { while running.join_next().await.is_some() {} };
        // What is left is ended where the set is dropped.
        let _ = tokio::time::timeout_at(until, all).await;
    }

    /// Ends all tasks.
    pub(super) fn close(&self) {
        let running = lock(&self.running).take();
        drop(running);
    }
}

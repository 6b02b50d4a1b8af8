//! The tools of one load of a bundle, until it is unloaded.

use std::sync::{Arc, PoisonError, RwLock};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use toolhost_manifest::bundle::WriteGuard;
use toolhost_runtime::debug_fields;

use super::ToolRegistry;

/// The tools of one load of a bundle and the protection of its files. All agents of the load share it.
pub(crate) struct LoadedTools {
    /// None once the bundle was unloaded.
    contents: RwLock<Option<Contents>>,
    /// The calls that run. Closed when unloading begins.
    running: TaskTracker,
    /// Cancelled when the tools were dropped.
    unloaded: CancellationToken,
    /// What workers must have in common with the host; none if calls run on no worker.
    terms: Option<Arc<str>>,
}

/// What is dropped when a bundle is unloaded.
struct Contents {
    registry: Arc<ToolRegistry>,
    _guard: Arc<WriteGuard>,
}

debug_fields!(LoadedTools, this => is_unloading: this.is_unloading());

/// Keeps the tools of a load, and the protection of its files, while a call runs.
pub(crate) struct RunningCall {
    pub(crate) registry: Arc<ToolRegistry>,
    _running: TaskTrackerToken,
}

impl LoadedTools {
    pub(crate) fn new(
        registry: Arc<ToolRegistry>,
        guard: Arc<WriteGuard>,
        terms: Option<Arc<str>>,
    ) -> Self {
        Self {
            contents: RwLock::new(Some(Contents {
                registry,
                _guard: guard,
            })),
            running: TaskTracker::new(),
            unloaded: CancellationToken::new(),
            terms,
        }
    }

    /// Begins a call; none if the bundle is being unloaded.
    pub(crate) fn begin_call(&self) -> Option<RunningCall> {
        let running = self.running.token();
        // Checked after it is counted: what began before is waited for.
        if self.is_unloading() {
            return None;
        }
        Some(RunningCall {
            registry: self.registry()?,
            _running: running,
        })
    }

    /// Returns the tools; none once the bundle was unloaded.
    pub(crate) fn registry(&self) -> Option<Arc<ToolRegistry>> {
        let contents = self.contents.read();
        let contents = contents.unwrap_or_else(PoisonError::into_inner);
        contents
            .as_ref()
            .map(|contents| Arc::clone(&contents.registry))
    }

    /// Returns what workers must have in common with the host.
    pub(crate) fn terms(&self) -> Option<&Arc<str>> {
        self.terms.as_ref()
    }

    pub(crate) fn is_unloading(&self) -> bool {
        self.running.is_closed()
    }

    pub(crate) fn unloaded(&self) -> &CancellationToken {
        &self.unloaded
    }

    /// Refuses new calls, waits for those that run, and drops the tools.
    pub(crate) async fn unload(&self) {
        self.running.close();
        self.running.wait().await;
        let contents = self.contents.write();
        let contents = contents.unwrap_or_else(PoisonError::into_inner).take();
        // Without the lock: this frees the code of the components.
        drop(contents);
        self.unloaded.cancel();
    }
}

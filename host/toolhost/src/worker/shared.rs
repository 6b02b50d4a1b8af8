//! What the tasks of a worker share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use toolhost_contract::WorkerCallId;
use toolhost_runtime::{Threads, lock};

use super::recent::RecentReports;
use crate::loaded_bundle::LoadedBundle;
use crate::workers::carrier::{Carrier, Destination, Route, WorkerLease};
use crate::workers::worker_info::WorkerInfo;

/// How a worker works.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WorkerConfig {
    /// Labels, for tools that the policy places by label: each 1 to 32 letters from `a` to `z`, digits and `-`.
    /// Default: none.
    pub labels: Vec<String>,
    /// Calls that it runs at once. Default: 256.
    pub slots: usize,
    /// Name of the machine, for people. Default: empty.
    pub machine: String,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self {
            labels: Vec::new(),
            slots: 256,
            machine: String::new(),
        }
    }
}

/// What the tasks of a worker share.
pub(super) struct Shared {
    pub(super) bundle: LoadedBundle,
    pub(super) carrier: Arc<dyn Carrier>,
    pub(super) id: String,
    pub(super) terms: Arc<str>,
    pub(super) root: String,
    pub(super) config: WorkerConfig,
    pub(super) slots: Arc<Semaphore>,
    /// The calls that run, with what stops them.
    pub(super) running: Mutex<HashMap<WorkerCallId, CancellationToken>>,
    pub(super) recent: Mutex<RecentReports>,
    /// When workers were first found without a lease.
    pub(super) missing: Mutex<HashMap<String, Instant>>,
    pub(super) ended: AtomicU64,
    pub(super) is_draining: AtomicBool,
}

impl Shared {
    pub(super) fn info(&self) -> WorkerInfo {
        WorkerInfo {
            worker: self.id.clone(),
            machine: self.config.machine.clone(),
            toolhost: env!("CARGO_PKG_VERSION").to_owned(),
            terms: self.terms.to_string(),
            bundle: self.bundle.0.key.text().into_owned(),
            state_root: self.root.clone(),
            labels: self.config.labels.clone(),
            slots: self.config.slots,
            running: lock(&self.running).len(),
            ended: self.ended.load(Relaxed),
            is_draining: self.is_draining.load(Relaxed),
        }
    }

    pub(super) fn lease(&self) -> WorkerLease {
        WorkerLease {
            worker: self.id.clone(),
            says: self.info().to_bytes(),
        }
    }

    pub(super) fn threads(&self) -> &Threads {
        self.bundle.0.host.sandbox.threads()
    }

    /// The routes by which calls come.
    pub(super) fn routes(&self) -> Vec<Route> {
        let labels = self.config.labels.iter().cloned().map(Destination::Label);
        let route = |to| Route {
            terms: self.terms.to_string(),
            to,
        };
        [Destination::Any]
            .into_iter()
            .chain(labels)
            .map(route)
            .collect()
    }
}

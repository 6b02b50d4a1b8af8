//! The worker's side: takes calls, runs them, and reports how they ended.

mod recent;
mod run;
mod shared;
mod taken;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolhost_manifest::policy::is_worker_word;
use toolhost_runtime::{debug_fields, lock};
use toolhost_store::random_text;

use self::shared::Shared;
pub use self::shared::WorkerConfig;
use crate::loaded_bundle::LoadedBundle;
use crate::workers::carrier::{Carrier, CarrierError, Deliveries};
use crate::workers::order::Order;
use crate::workers::root_id::root_id;
use crate::workers::worker_info::WorkerInfo;

/// Renewals of a lease within its time.
const RENEWALS: u32 = 4;

/// Longest time that a delivery waits here for a slot.
const SLOT_WAIT: Duration = Duration::from_millis(250);

/// Deliveries that wait in the worker until a slot is free.
const AHEAD: usize = 1;

/// Why a worker does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The bundle's host has no state root.
    #[error("a worker needs a state root")]
    NoStateRoot,
    /// The id of the state root cannot be read or made.
    #[error("the id of the state root cannot be read")]
    StateRoot(#[source] io::Error),
    /// A label has another form.
    #[error("the label '{0}' is not 1 to 32 letters from a to z, digits and '-'")]
    Label(String),
    /// The system gave no random bytes.
    #[error("the system gave no random bytes")]
    Random(#[from] getrandom::Error),
    /// The carrier refused, or cannot be reached.
    #[error(transparent)]
    Carrier(#[from] CarrierError),
    /// The bundle's host was not built for a worker.
    #[error("the host of a worker is built with `HostBuilder::as_worker`")]
    NotOfWorker,
}

/// Runs the calls of hosts that have the same policy and the same bundle. Dropping it stops them; [`Self::drain`] waits for
/// them.
pub struct Worker {
    shared: Arc<Shared>,
    stop_taking: CancellationToken,
    stop: CancellationToken,
    tasks: TaskTracker,
}

debug_fields!(Worker, this => id: this.shared.id);

impl Worker {
    /// Starts a worker: it writes its lease, and takes calls from now on.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub async fn start(
        bundle: LoadedBundle,
        carrier: Arc<dyn Carrier>,
        config: WorkerConfig,
    ) -> Result<Self, WorkerError> {
        if let Some(label) = config.labels.iter().find(|label| !is_worker_word(label)) {
            return Err(WorkerError::Label(label.clone()));
        }
        let host = &bundle.0.host;
        let root = host.state_root.as_deref().ok_or(WorkerError::NoStateRoot)?;
        let root = root_id(root).map_err(WorkerError::StateRoot)?;
        let shared = Arc::new(Shared {
            id: random_text::<16>()?,
            terms: bundle
                .0
                .tools
                .terms()
                .cloned()
                .ok_or(WorkerError::NotOfWorker)?,
            root,
            slots: Arc::new(Semaphore::new(config.slots.max(1))),
            running: Mutex::default(),
            recent: Mutex::default(),
            missing: Mutex::default(),
            ended: AtomicU64::new(0),
            is_draining: AtomicBool::new(false),
            bundle,
            carrier,
            config,
        });
        shared.carrier.keep_lease(&shared.lease()).await?;
        let calls = shared.carrier.calls(&shared.routes(), AHEAD).await?;
        let orders = shared.carrier.orders().await?;
        let worker = Self {
            stop_taking: CancellationToken::new(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            shared,
        };
        worker.spawn(worker.stop.clone(), keep_lease(Arc::clone(&worker.shared)));
        let obeying = obey(
            Arc::clone(&worker.shared),
            orders,
            worker.stop_taking.clone(),
        );
        worker.spawn(worker.stop.clone(), obeying);
        let taking = take_calls(
            Arc::clone(&worker.shared),
            calls,
            (worker.tasks.clone(), worker.stop.clone()),
        );
        worker.spawn(worker.stop_taking.clone(), taking);
        Ok(worker)
    }

    fn spawn(&self, until: CancellationToken, task: impl Future<Output = ()> + Send + 'static) {
        let task = async move {
            until.run_until_cancelled(task).await;
        };
        self.shared.threads().spawn_own(task);
    }

    /// Returns what the worker says of itself.
    pub fn info(&self) -> WorkerInfo {
        self.shared.info()
    }

    /// Waits until the worker was told to take no more calls.
    pub async fn told_to_drain(&self) {
        self.stop_taking.cancelled().await;
    }

    /// Takes no more calls, waits until those that run have ended, and ends the lease.
    pub async fn drain(&self) {
        self.shared.is_draining.store(true, Relaxed);
        self.stop_taking.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.stop.cancel();
        if let Err(error) = self.shared.carrier.end_lease(&self.shared.id).await {
            tracing::warn!(%error, "the lease of a worker ends by itself");
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop_taking.cancel();
        self.stop.cancel();
    }
}

/// Renews the lease.
async fn keep_lease(shared: Arc<Shared>) {
    let pause = shared.carrier.lease_time() / RENEWALS;
    loop {
        if let Err(error) = shared.carrier.keep_lease(&shared.lease()).await {
            tracing::warn!(%error, "the lease of a worker could not be renewed");
        }
        shared.threads().pause(pause).await;
    }
}

/// Stops calls, and takes no more of them, as the worker is told.
async fn obey(
    shared: Arc<Shared>,
    mut orders: Box<dyn Deliveries>,
    stop_taking: CancellationToken,
) {
    while let Some(delivery) = orders.next().await {
        match Order::parse(&delivery.message) {
            Some(Order::Cancel(id)) => {
                let stop = lock(&shared.running).get(&id).cloned();
                stop.inspect(CancellationToken::cancel);
            }
            Some(Order::Drain(worker)) if worker == shared.id => {
                shared.is_draining.store(true, Relaxed);
                stop_taking.cancel();
            }
            Some(Order::Drain(_)) | None => {}
        }
    }
}

/// Takes calls, as many at once as there are slots.
async fn take_calls(
    shared: Arc<Shared>,
    mut calls: Box<dyn Deliveries>,
    (tasks, stop): (TaskTracker, CancellationToken),
) {
    loop {
        let Some(delivery) = calls.next().await else {
            return;
        };
        let slot = Arc::clone(&shared.slots).acquire_owned();
        let Some(Ok(slot)) = shared.threads().within(SLOT_WAIT, slot).await else {
            // Another worker may have one.
            taken::give_back(&shared, &delivery).await;
            continue;
        };
        let (taker, stop) = (Arc::clone(&shared), stop.clone());
        let running = async move {
            stop.run_until_cancelled(taken::take(&taker, delivery))
                .await;
            drop(slot);
        };
        shared.threads().spawn_own(tasks.track_future(running));
    }
}

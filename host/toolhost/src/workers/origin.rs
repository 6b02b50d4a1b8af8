//! The host's side: sends calls to workers, and waits for their reports.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{OnceCell, Semaphore, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use toolhost_contract::{WorkerCall, WorkerCallId, WorkerReport};
use toolhost_runtime::{Threads, debug_fields, lock};
use toolhost_store::random_text;

use super::carrier::{Carrier, CarrierError, Deliveries, Route};
use super::claim::Holder;
use super::order::Order;
use super::parsed::parsed;
use super::repeat::Repeat;
use super::root_id::root_id;

/// Time beyond its deadline that the report of a call has to arrive: the worker itself ends the call at its deadline. A commit
/// has 10 s of its own.
const GRACE: Duration = Duration::from_millis(500);
const COMMIT_GRACE: Duration = Duration::from_millis(10_500);

/// Pause after which the carrier is asked whether it still has a call without a report: what it lost is sent again.
const SEND_AGAIN: Duration = Duration::from_secs(30);

/// Time beyond the deadline of a call after which its claim is forgotten: no worker claims a call so late.
const FORGET_AFTER: Duration = Duration::from_secs(30);

/// How often old runs of calls are forgotten.
const PRUNE_EVERY: Duration = Duration::from_secs(600);

/// Longest wait for the carrier when the host ends.
const FLUSH: Duration = Duration::from_secs(5);

/// Most claims that are forgotten when a call ends.
const FORGET_AT_ONCE: usize = 4;

/// Pauses between attempts to reach the carrier.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// How a host reaches its workers. Cheap to clone.
#[derive(Clone)]
pub struct Workers {
    pub(crate) carrier: Arc<dyn Carrier>,
    in_flight: u32,
}

debug_fields!(Workers, this => in_flight: this.in_flight);

impl Workers {
    /// Sends calls over this carrier, at most 1,000 of one host at once.
    pub fn new(carrier: Arc<dyn Carrier>) -> Self {
        Self {
            carrier,
            in_flight: 1_000,
        }
    }

    /// Sets how many calls of one host workers have at once. More are refused with `E_TOOL_BUSY`.
    #[must_use]
    pub fn in_flight(mut self, calls: u32) -> Self {
        self.in_flight = calls;
        self
    }
}

/// Why a call has no report.
#[derive(Debug)]
pub(crate) enum NoReport {
    /// Workers have as many calls as they may.
    Busy,
    /// None arrived in time.
    Late,
    /// The carrier refuses.
    Refused(CarrierError),
}

/// What sends the calls of a host.
pub(crate) struct Origin {
    carrier: Arc<dyn Carrier>,
    threads: Threads,
    /// Id of this run of the host: where reports go.
    id: String,
    slots: Arc<Semaphore>,
    waiting: Arc<Waiting>,
    receiving: OnceCell<DropGuard>,
    root: OnceLock<String>,
    /// What tells workers and the carrier of the ends of calls.
    endings: TaskTracker,
    /// When old runs of calls were last forgotten.
    pruned: Mutex<Instant>,
    /// Claims that are forgotten at these times, the earliest first.
    claims: Mutex<BTreeSet<(Instant, WorkerCallId)>>,
}

type Waiting = Mutex<HashMap<WorkerCallId, oneshot::Sender<WorkerReport>>>;

debug_fields!(Origin, this => id: this.id);

impl Origin {
    pub(crate) fn new(workers: Workers, threads: Threads) -> Result<Self, getrandom::Error> {
        Ok(Self {
            slots: Arc::new(Semaphore::new(workers.in_flight as usize)),
            carrier: workers.carrier,
            threads,
            id: random_text::<16>()?,
            waiting: Arc::default(),
            receiving: OnceCell::new(),
            root: OnceLock::new(),
            endings: TaskTracker::new(),
            pruned: Mutex::new(Instant::now()),
            claims: Mutex::default(),
        })
    }

    /// Id of this run of the host.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the id of the host's state root.
    pub(crate) fn root(&self, state_root: &Path) -> io::Result<&str> {
        if let Some(id) = self.root.get() {
            return Ok(id);
        }
        let id = root_id(state_root)?;
        Ok(self.root.get_or_init(|| id))
    }

    /// Waits until the carrier knows of all calls that have ended, for 5 s at most.
    pub(crate) async fn flush(&self) {
        self.endings.close();
        let known = self.threads.within(FLUSH, self.endings.wait()).await;
        self.endings.reopen();
        if known.is_none() {
            tracing::warn!(
                "calls that have ended are delivered again, as the carrier does not answer"
            );
        }
    }

    /// Whether it is time to forget old runs of calls: once in ten minutes.
    pub(crate) fn prunes_runs_now(&self) -> bool {
        let mut pruned = lock(&self.pruned);
        let is_time = pruned.elapsed() >= PRUNE_EVERY;
        if is_time {
            *pruned = Instant::now();
        }
        is_time
    }

    /// Time after which a call may have been delivered a second time.
    pub(crate) fn delivers_again_after(&self) -> Duration {
        self.carrier.acknowledge_within()
    }

    /// Sends a call, and waits for its report. If the future is dropped, the call is not delivered any more, and its worker is
    /// asked to stop it.
    ///
    /// # Errors
    /// [`NoReport`].
    pub(crate) async fn run(
        &self,
        route: &Route,
        mut call: WorkerCall,
        (repeat, commits): (Repeat, bool),
    ) -> Result<WorkerReport, NoReport> {
        let Ok(_slot) = Arc::clone(&self.slots).try_acquire_owned() else {
            return Err(NoReport::Busy);
        };
        let grace = if commits { COMMIT_GRACE } else { GRACE };
        let time = Duration::from_millis(call.deadline_ms).saturating_add(grace);
        let (send, reported) = oneshot::channel();
        lock(&self.waiting).insert(call.id.clone(), send);
        let mut awaited = Awaited {
            origin: self,
            id: call.id.clone(),
            place: Mutex::default(),
            is_claimed: repeat == Repeat::Never,
            is_over: false,
        };
        let place = &awaited.place;
        let answer = async {
            self.receive().await?;
            tokio::select! {
                biased;
                report = reported => report.map_err(|_| NoReport::Late),
                error = self.send(route, &mut call, place) => Err(error),
            }
        };
        let answer = self.threads.within(time, answer).await;
        let answer = answer.unwrap_or(Err(NoReport::Late));
        match &answer {
            Ok(report) => {
                awaited.is_over = true;
                self.end(&call, report);
            }
            Err(NoReport::Busy) => awaited.is_over = true,
            // The guard has the worker stop it.
            Err(NoReport::Late | NoReport::Refused(_)) => {}
        }
        answer
    }

    /// Sends a call, and again if the carrier lost it, as long as nobody has the report. Returns why that is useless. Keeps
    /// the place of the message.
    async fn send(
        &self,
        route: &Route,
        call: &mut WorkerCall,
        place: &Mutex<Option<String>>,
    ) -> NoReport {
        let (began, deadline) = (Instant::now(), call.deadline_ms);
        let (mut pause, mut may_be_stored) = (PAUSES.0, false);
        loop {
            let message = Bytes::from(call.to_json());
            let sent = self
                .carrier
                .send_call(route, &call.id, call.attempt, message);
            match sent.await {
                Ok(at) => {
                    *lock(place) = Some(at.clone());
                    self.until_lost(&at).await;
                    call.attempt = call.attempt.saturating_add(1);
                    pause = PAUSES.0;
                    may_be_stored = true;
                }
                Err(CarrierError::Full) if !may_be_stored => return NoReport::Busy,
                Err(error @ (CarrierError::Unreachable(_) | CarrierError::Full)) => {
                    tracing::warn!(call = %call.id, %error, "a call could not be sent to a worker yet");
                    self.threads.pause(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                    may_be_stored = true;
                }
                Err(error @ CarrierError::Refused(_)) => return NoReport::Refused(error),
            }
            let elapsed = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            call.deadline_ms = deadline.saturating_sub(elapsed).max(1);
        }
    }

    /// Waits until the carrier has lost a message.
    async fn until_lost(&self, place: &str) {
        loop {
            self.threads.pause(SEND_AGAIN).await;
            if let Ok(false) = self.carrier.is_stored(place).await {
                return;
            }
        }
    }

    /// Begins to receive reports, unless that was done.
    async fn receive(&self) -> Result<(), NoReport> {
        let mut pause = PAUSES.0;
        loop {
            match self.try_receive().await {
                Ok(()) => return Ok(()),
                Err(CarrierError::Unreachable(error)) => {
                    tracing::warn!(error, "reports of workers cannot be received yet");
                    self.threads.pause(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
                Err(error) => return Err(NoReport::Refused(error)),
            }
        }
    }

    async fn try_receive(&self) -> Result<(), CarrierError> {
        let begun = self.receiving.get_or_try_init(|| async {
            let mut reports = self.carrier.reports(&self.id).await?;
            let (carrier, waiting) = (Arc::clone(&self.carrier), Arc::clone(&self.waiting));
            let stop = CancellationToken::new();
            let stopped = stop.clone();
            let threads = self.threads.clone();
            self.threads.spawn_own(async move {
                let receiving = hand_out(&mut *reports, &carrier, &threads, &waiting);
                stopped.run_until_cancelled(receiving).await;
            });
            Ok(stop.drop_guard())
        });
        begun.await.map(drop)
    }

    fn tell_later(&self, ending: impl Future<Output = ()> + Send + 'static) {
        self.threads.spawn_own(self.endings.track_future(ending));
    }

    /// Acknowledges the message of a call, and forgets old claims.
    fn end(&self, call: &WorkerCall, report: &WorkerReport) {
        let now = Instant::now();
        let mut due = Vec::new();
        {
            let mut claims = lock(&self.claims);
            if report.is_claimed {
                let life = Duration::from_millis(call.deadline_ms).saturating_add(FORGET_AFTER);
                claims.insert((now + life, call.id.clone()));
            }
            while let Some((at, _)) = claims.first()
                && *at <= now
                && due.len() < FORGET_AT_ONCE
            {
                due.extend(claims.pop_first().map(|(_, id)| id));
            }
        }
        let carrier = Arc::clone(&self.carrier);
        let (id, receipt) = (call.id.clone(), report.receipt.clone());
        self.tell_later(async move {
            if let Err(error) = carrier.acknowledge(&receipt).await {
                tracing::warn!(call = %id, %error, "a call that has ended could not be acknowledged");
            }
            // What is left of them ends by its age.
            let _ = carrier.clean(&id).await;
            for id in due {
                let _ = carrier.forget(&id).await;
            }
        });
    }
}

/// Gives each report to its call, and acknowledges it.
async fn hand_out(
    reports: &mut dyn Deliveries,
    carrier: &Arc<dyn Carrier>,
    threads: &Threads,
    waiting: &Waiting,
) {
    while let Some(delivery) = reports.next().await {
        let mut receipts = vec![delivery.receipt.clone()];
        let parsed = parsed(threads, delivery.message, WorkerReport::parse);
        match parsed.await {
            Ok(report) => {
                let waits = lock(waiting).remove(&report.id);
                if let Some(waits) = waits {
                    // The call may have ended meanwhile.
                    drop(waits.send(report));
                } else {
                    tracing::debug!(call = %report.id, "a report has no call that waits for it");
                    receipts.push(report.receipt);
                }
            }
            Err(error) => tracing::error!(%error, "a report of a worker was refused"),
        }
        let carrier = Arc::clone(carrier);
        threads.spawn_own(async move {
            for receipt in receipts {
                if let Err(error) = carrier.acknowledge(&receipt).await {
                    tracing::warn!(%error, "a report could not be acknowledged");
                }
            }
        });
    }
}

/// A call that waits for its report. If it is dropped before, it is not delivered any more, and its worker is asked to stop.
struct Awaited<'a> {
    origin: &'a Origin,
    id: WorkerCallId,
    /// The place of its message, once it was sent.
    place: Mutex<Option<String>>,
    /// Whether workers claim it.
    is_claimed: bool,
    is_over: bool,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        lock(&self.origin.waiting).remove(&self.id);
        if self.is_over {
            return;
        }
        let (carrier, id) = (Arc::clone(&self.origin.carrier), self.id.clone());
        let (place, is_claimed) = (lock(&self.place).take(), self.is_claimed);
        self.origin.tell_later(async move {
            let withdrawn = match &place {
                Some(place) => carrier.withdraw(place).await,
                None => Ok(()),
            };
            // A worker that has the message and has not begun does not begin any more.
            let claimed = if is_claimed {
                carrier
                    .claim(&id, Holder::Withdrawn.to_bytes())
                    .await
                    .map(drop)
            } else {
                Ok(())
            };
            let told = carrier.tell(Order::Cancel(id.clone()).to_bytes()).await;
            let cleaned = carrier.clean(&id).await;
            for error in [withdrawn, claimed, told, cleaned]
                .into_iter()
                .filter_map(Result::err)
            {
                tracing::warn!(call = %id, %error, "a worker could not be told to stop a call");
            }
        });
    }
}

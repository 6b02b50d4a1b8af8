//! One delivery of a call: whether it runs here, and its report.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio_util::sync::CancellationToken;
use toolhost_contract::{
    ToolError, ToolErrorCode, ToolResult, WORKER_VERSION, WorkerCall, WorkerReport,
};
use toolhost_runtime::lock;

use super::run::{PlacedRun, RunsHere};
use super::shared::Shared;
use crate::call::fence::FenceEnd;
use crate::workers::carrier::{CarrierError, Claim, Claimed, Delivery};
use crate::workers::claim::Holder;
use crate::workers::parsed::parsed;
use crate::workers::repeat::Repeat;

/// Workers without a lease that are remembered.
const MISSING_MAX: usize = 1_000;

/// Deliveries after which a call is dropped: its host is dead, or no worker may run it.
const DELIVERIES_MAX: u64 = 20;

/// Pause before a call that another worker runs, or that does not belong here, is delivered again.
const GIVE_BACK: Duration = Duration::from_secs(1);

/// Time beyond its deadline in which a call may be claimed. A host forgets claims later.
const CLAIM_MARGIN: Duration = Duration::from_secs(5);

/// Pause before the carrier is asked again.
const PAUSE: Duration = Duration::from_millis(200);

/// Attempts to send a report, each after a longer pause. Afterwards the call is delivered again, and gets the same report.
const SENDS: u32 = 8;

/// Whether a call runs here.
enum Decision {
    Run {
        is_claimed: bool,
    },
    /// It has ended like this.
    Report(Box<WorkerReport>),
    GiveBack,
    /// Nobody waits for it.
    Drop,
}

/// Runs a call that was delivered, unless it must not run here, and reports how it ended.
pub(super) async fn take(shared: &Arc<Shared>, delivery: Delivery) {
    if delivery.deliveries > DELIVERIES_MAX {
        tracing::warn!(
            "a call is dropped, as nobody could end it: its host sends it again if it waits"
        );
        return acknowledge(shared, &delivery).await;
    }
    let call = parsed(
        shared.threads(),
        delivery.message.clone(),
        WorkerCall::parse,
    );
    let call = match call.await {
        Ok(call) => call,
        Err(error) => {
            tracing::error!(%error, "a call was refused");
            return acknowledge(shared, &delivery).await;
        }
    };
    let is_of_root = call
        .state_root
        .as_ref()
        .is_none_or(|root| *root == shared.root);
    if *call.terms != *shared.terms || !is_of_root {
        let root = call.state_root.as_deref().unwrap_or_default();
        tracing::warn!(call = %call.id, root, "a call is of another policy, bundle or state root");
        return give_back(shared, &delivery).await;
    }
    let recent = lock(&shared.recent).get(&call.id);
    if let Some(report) = recent.and_then(|report| WorkerReport::parse(&report).ok()) {
        let receipt = delivery.receipt;
        let report = WorkerReport { receipt, ..report };
        return send(shared, &call, report.to_json().into()).await;
    }
    let placed = match PlacedRun::of(&shared.bundle, &call, &shared.config.labels) {
        Ok(placed) => placed,
        Err(error) => {
            let report = failed(shared, &call, &delivery, error, false);
            return finish(shared, &call, &report).await;
        }
    };
    let stop = CancellationToken::new();
    {
        let mut running = lock(&shared.running);
        if running.contains_key(&call.id) {
            // It goes on, and says that it does.
            return;
        }
        running.insert(call.id.clone(), stop.clone());
    }
    let _running = Running {
        shared,
        call: &call,
    };
    match decide(shared, &call, &placed, &delivery).await {
        Ok(Decision::Run { is_claimed }) => {
            let running = run(shared, &call, placed, (&delivery, is_claimed));
            match stop.run_until_cancelled(running).await {
                Some(Some(report)) => finish(shared, &call, &report).await,
                // Another run of the call goes on, or will.
                Some(None) => {}
                None => acknowledge(shared, &delivery).await,
            }
        }
        Ok(Decision::Report(report)) => finish(shared, &call, &report).await,
        Ok(Decision::GiveBack) => give_back(shared, &delivery).await,
        Ok(Decision::Drop) => acknowledge(shared, &delivery).await,
        Err(error) => {
            tracing::warn!(call = %call.id, %error, "a call could not be begun, and is delivered again");
            give_back(shared, &delivery).await;
        }
    }
}

/// Removes a call from those that run.
struct Running<'a> {
    shared: &'a Shared,
    call: &'a WorkerCall,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        lock(&self.shared.running).remove(&self.call.id);
    }
}

/// Decides whether a call runs here: claims it, if it may run once only.
async fn decide(
    shared: &Shared,
    call: &WorkerCall,
    placed: &PlacedRun,
    delivery: &Delivery,
) -> Result<Decision, CarrierError> {
    if placed.repeat != Repeat::Never {
        return Ok(Decision::Run { is_claimed: false });
    }
    let holder = Holder::Started(shared.id.clone()).to_bytes();
    let claim = match shared.carrier.claim(&call.id, holder).await? {
        Claimed::Before(claim) => claim,
        Claimed::Now(at) => {
            let age = at.duration_since(delivery.sent).unwrap_or_default();
            let life = Duration::from_millis(call.deadline_ms).saturating_add(CLAIM_MARGIN);
            // The host does not wait any more, and may have forgotten an earlier claim.
            return Ok(if age > life {
                Decision::Drop
            } else {
                Decision::Run { is_claimed: true }
            });
        }
    };
    match Holder::parse(&claim.holder) {
        Some(Holder::Withdrawn) => Ok(Decision::Drop),
        Some(Holder::Started(worker)) if worker == shared.id => {
            // It has ended here, so long ago that its report is gone.
            interrupted(shared, call, delivery, &claim).await
        }
        Some(Holder::Started(worker)) => {
            if may_live(shared, &worker).await? {
                return Ok(Decision::GiveBack);
            }
            interrupted(shared, call, delivery, &claim).await
        }
        Some(Holder::Interrupted) | None => {
            let report = interruption(shared, call, delivery);
            Ok(Decision::Report(Box::new(report)))
        }
    }
}

/// Whether a worker has a lease, or had one within the time of a lease: all leases end while the carrier is away.
async fn may_live(shared: &Shared, worker: &str) -> Result<bool, CarrierError> {
    let leases = shared.carrier.leases().await?;
    let mut missing = lock(&shared.missing);
    if leases.iter().any(|lease| lease.worker == worker) {
        missing.remove(worker);
        return Ok(true);
    }
    if missing.len() >= MISSING_MAX {
        missing.clear();
    }
    let since = missing
        .entry(worker.to_owned())
        .or_insert_with(Instant::now);
    Ok(since.elapsed() < shared.carrier.lease_time())
}

/// Ends a call that was started by a worker which is dead.
async fn interrupted(
    shared: &Shared,
    call: &WorkerCall,
    delivery: &Delivery,
    claim: &Claim,
) -> Result<Decision, CarrierError> {
    let holder = Holder::Interrupted.to_bytes();
    let carrier = &shared.carrier;
    let is_first = carrier.take_over(&call.id, claim.revision, holder).await?;
    if !is_first {
        return Ok(Decision::GiveBack);
    }
    let report = interruption(shared, call, delivery);
    Ok(Decision::Report(Box::new(report)))
}

fn interruption(shared: &Shared, call: &WorkerCall, delivery: &Delivery) -> WorkerReport {
    let message = format!(
        "Tool '{}' was interrupted: the worker that ran it ended.",
        call.tool
    );
    let locale = shared.bundle.0.host.policy.locale();
    let error = ToolError::host(ToolErrorCode::Interrupted, message, locale);
    failed(shared, call, delivery, error, true)
}

fn failed(
    shared: &Shared,
    call: &WorkerCall,
    delivery: &Delivery,
    error: ToolError,
    is_claimed: bool,
) -> WorkerReport {
    WorkerReport {
        version: WORKER_VERSION,
        id: call.id.clone(),
        worker: shared.id.clone(),
        receipt: delivery.receipt.clone(),
        is_claimed,
        has_answered: false,
        result: ToolResult::error(&call.call_id, call.tool.as_str(), error),
    }
}

/// Runs a call, and says meanwhile that it does. None if another run of it goes on.
async fn run(
    shared: &Arc<Shared>,
    call: &WorkerCall,
    placed: PlacedRun,
    (delivery, is_claimed): (&Delivery, bool),
) -> Option<WorkerReport> {
    let (id, worker) = (call.id.clone(), shared.id.clone());
    let receipt = delivery.receipt.clone();
    let report_of = Arc::new(move |result, has_answered| WorkerReport {
        version: WORKER_VERSION,
        id: id.clone(),
        worker: worker.clone(),
        receipt: receipt.clone(),
        is_claimed,
        has_answered,
        result,
    });
    let is_again = delivery.deliveries > 1 || call.attempt > 1;
    let note = Arc::clone(&report_of);
    let note = move |result| String::from_utf8(note(result, true).to_json()).unwrap_or_default();
    let placed = match placed
        .fence(&shared.bundle, call, is_again, Arc::new(note))
        .await
    {
        RunsHere::Yes(placed) => placed,
        RunsHere::Committed(note) => return committed(&note, delivery),
        RunsHere::Ended => {
            acknowledge(shared, delivery).await;
            return None;
        }
        RunsHere::Later => {
            give_back(shared, delivery).await;
            return None;
        }
    };
    let fence = placed.fence.clone();
    let running = pin!(placed.run(&shared.bundle, call));
    let (result, has_answered) = tokio::select! {
        biased;
        end = running => end,
        never = keep(shared, call, delivery) => match never {},
    };
    match fence.and_then(|fence| fence.take_end()) {
        None => Some(report_of(result, has_answered)),
        Some(FenceEnd::Superseded) => {
            tracing::warn!(call = %call.id, "a call ran again elsewhere, so this run committed nothing");
            None
        }
        Some(FenceEnd::Committed(note)) => committed(&note, delivery),
    }
}

/// Says that a call is worked on, as long as it is polled.
async fn keep(shared: &Shared, call: &WorkerCall, delivery: &Delivery) -> Infallible {
    let pause = shared.carrier.acknowledge_within() / 3;
    loop {
        shared.threads().pause(pause).await;
        if let Err(error) = shared.carrier.in_progress(&delivery.receipt).await {
            tracing::warn!(call = %call.id, %error, "a call may be delivered again while it runs");
        }
    }
}

/// Returns the report of the run that was committed.
fn committed(note: &str, delivery: &Delivery) -> Option<WorkerReport> {
    match WorkerReport::parse(note.as_bytes()) {
        Ok(report) => Some(WorkerReport {
            receipt: delivery.receipt.clone(),
            ..report
        }),
        Err(error) => {
            tracing::error!(%error, "the note of a run that was committed cannot be read");
            None
        }
    }
}

async fn finish(shared: &Shared, call: &WorkerCall, report: &WorkerReport) {
    shared.ended.fetch_add(1, Relaxed);
    let report = Bytes::from(report.to_json());
    lock(&shared.recent).add(&call.id, report.clone());
    send(shared, call, report).await;
}

async fn send(shared: &Shared, call: &WorkerCall, report: Bytes) {
    let mut pause = PAUSE;
    for _ in 0..SENDS {
        let sent = shared
            .carrier
            .send_report(&call.origin, &call.id, report.clone());
        match sent.await {
            Ok(()) => return,
            Err(error) => {
                tracing::warn!(call = %call.id, %error, "a report could not be sent yet");
                shared.threads().pause(pause).await;
                pause *= 2;
            }
        }
    }
}

async fn acknowledge(shared: &Shared, delivery: &Delivery) {
    if let Err(error) = shared.carrier.acknowledge(&delivery.receipt).await {
        tracing::warn!(%error, "a call could not be acknowledged, and is delivered again");
    }
}

pub(super) async fn give_back(shared: &Shared, delivery: &Delivery) {
    let carrier = &shared.carrier;
    if let Err(error) = carrier.give_back(&delivery.receipt, GIVE_BACK).await {
        tracing::warn!(%error, "a call could not be given back, and is delivered again later");
    }
}

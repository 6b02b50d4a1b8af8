//! What carries calls to workers, and their reports back.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use toolhost_contract::WorkerCallId;

/// Why a carrier did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CarrierError {
    /// It cannot be reached now. Later it may be. What was asked may have been done.
    #[error("the carrier of calls cannot be reached: {0}")]
    Unreachable(String),
    /// It holds as many messages as it may.
    #[error("the carrier of calls is full")]
    Full,
    /// It refused. Asking again does not help.
    #[error("the carrier of calls refused: {0}")]
    Refused(String),
}

/// The future of an operation of a carrier.
pub type Carrying<'a, T> = BoxFuture<'a, Result<T, CarrierError>>;

/// Which workers may take a call. Only workers with the same terms get it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Route {
    /// SHA-256 of the policy and the bundle, in hexadecimal.
    pub terms: String,
    /// Which of the workers with these terms.
    pub to: Destination,
}

/// Which of the workers with the terms of a call may take it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Destination {
    /// Any.
    Any,
    /// One with this label: letters from `a` to `z`, digits and `-`.
    Label(String),
}

/// A message, as it was delivered. It is delivered again if it is not acknowledged in time.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The message.
    pub message: Bytes,
    /// How often it was delivered: 1 at first.
    pub deliveries: u64,
    /// When it was sent, by the clock of the carrier.
    pub sent: SystemTime,
    /// What [`Carrier::acknowledge`] takes: printable ASCII without spaces.
    pub receipt: String,
}

/// Messages as they arrive.
pub trait Deliveries: Send {
    /// Waits for the next message. Connects again if the connection is lost. Cancel safe. Returns `None` once the carrier is
    /// closed.
    fn next(&mut self) -> BoxFuture<'_, Option<Delivery>>;
}

/// Who holds a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// What its holder wrote.
    pub holder: Bytes,
    /// The version of what was written.
    pub revision: u64,
}

/// What becomes of an attempt to claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// It is claimed now: at this time, by the clock of the carrier.
    Now(SystemTime),
    /// It was claimed before.
    Before(Claim),
}

/// What a worker says of itself as long as it lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerLease {
    /// Id of its run: letters and digits in lower case.
    pub worker: String,
    /// What it says of itself.
    pub says: Bytes,
}

/// Carries calls to workers, and their reports back. What is sent is stored before the future ends, and delivered at least
/// once.
///
/// Futures are polled on threads without timers: an implementation brings its own, such as a runtime.
///
/// [`toolhost-nats`](https://docs.rs/toolhost-nats) implements it over NATS.
pub trait Carrier: Send + Sync + 'static {
    /// Sends a call. One with the same id and attempt that was sent within the last two minutes is not sent again. Returns the
    /// place of the message.
    fn send_call<'a>(
        &'a self,
        to: &'a Route,
        id: &'a WorkerCallId,
        attempt: u32,
        call: Bytes,
    ) -> Carrying<'a, String>;

    /// Returns whether the message of a call is still stored at its place: nobody has acknowledged it, and it did not get lost.
    fn is_stored<'a>(&'a self, place: &'a str) -> Carrying<'a, bool>;

    /// Removes the message of a call from its place, so that it is not delivered any more. Succeeds too if it is not there.
    fn withdraw<'a>(&'a self, place: &'a str) -> Carrying<'a, ()>;

    /// Receives the calls of these routes, which other workers may receive too: each is delivered to one of them. At most
    /// `ahead` messages wait here until [`Deliveries::next`] returns them, or one of each route if that is more. Those that
    /// wait when it is dropped are given back.
    fn calls<'a>(&'a self, from: &'a [Route], ahead: usize) -> Carrying<'a, Box<dyn Deliveries>>;

    /// Sends a report to the host with this id: 1 to 64 letters, digits, `-` and `_`. The same report of the same call that
    /// was sent within the last two minutes is not sent again.
    fn send_report<'a>(
        &'a self,
        origin: &'a str,
        id: &'a WorkerCallId,
        report: Bytes,
    ) -> Carrying<'a, ()>;

    /// Receives the reports to the host with this id.
    fn reports<'a>(&'a self, origin: &'a str) -> Carrying<'a, Box<dyn Deliveries>>;

    /// Acknowledges a delivery, so that it is not delivered again. The future ends once that is stored.
    fn acknowledge<'a>(&'a self, receipt: &'a str) -> Carrying<'a, ()>;

    /// Says that a delivery is worked on: it is not delivered again for another [`Self::acknowledge_within`].
    fn in_progress<'a>(&'a self, receipt: &'a str) -> Carrying<'a, ()>;

    /// Gives a delivery back. It is delivered again after this time, perhaps to another worker.
    fn give_back<'a>(&'a self, receipt: &'a str, after: Duration) -> Carrying<'a, ()>;

    /// Time after which a delivery that is not acknowledged is delivered again.
    fn acknowledge_within(&self) -> Duration;

    /// Tells all workers something. It may get lost.
    fn tell(&self, order: Bytes) -> Carrying<'_, ()>;

    /// Receives what workers are told, as the messages of deliveries without a receipt.
    fn orders(&self) -> Carrying<'_, Box<dyn Deliveries>>;

    /// Claims a call. Of all that claim one, one gets [`Claimed::Now`].
    fn claim<'a>(&'a self, id: &'a WorkerCallId, holder: Bytes) -> Carrying<'a, Claimed>;

    /// Replaces a claim, unless it was replaced meanwhile. Returns whether it was.
    fn take_over<'a>(
        &'a self,
        id: &'a WorkerCallId,
        revision: u64,
        holder: Bytes,
    ) -> Carrying<'a, bool>;

    /// Removes what belongs to the messages of a call that has ended, such as large arguments.
    fn clean<'a>(&'a self, id: &'a WorkerCallId) -> Carrying<'a, ()>;

    /// Removes the claim of a call of which no message is left.
    fn forget<'a>(&'a self, id: &'a WorkerCallId) -> Carrying<'a, ()>;

    /// Writes or renews the lease of a worker. Without renewal it ends after [`Self::lease_time`].
    fn keep_lease<'a>(&'a self, lease: &'a WorkerLease) -> Carrying<'a, ()>;

    /// Ends the lease of a worker.
    fn end_lease<'a>(&'a self, worker: &'a str) -> Carrying<'a, ()>;

    /// Returns the leases of all workers.
    fn leases(&self) -> Carrying<'_, Vec<WorkerLease>>;

    /// Time after which a lease that is not renewed ends.
    fn lease_time(&self) -> Duration;
}

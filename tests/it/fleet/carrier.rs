//! A carrier in memory, which delivers late, twice, or loses what it is told to lose.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use futures_util::FutureExt;
use toolhost::BoxFuture;
use toolhost::fleet::{
    Carrier, CarrierError, Carrying, Claim, Claimed, Deliveries, Delivery, Route, WorkerLease,
};
use toolhost_contract::WorkerCallId;

/// Time after which a delivery that is not acknowledged is delivered again.
pub(super) const AGAIN: Duration = Duration::from_millis(300);

/// Time after which a lease ends.
pub(super) const LEASE: Duration = Duration::from_millis(300);

/// What goes wrong.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// Every call is put into its queue this often, besides once.
    pub(super) copies: AtomicU64,
    /// So many reports get lost.
    pub(super) lost_reports: AtomicU64,
    /// So many calls get lost.
    pub(super) lost_calls: AtomicU64,
    /// Calls are so many seconds older than they are.
    pub(super) age: AtomicU64,
    /// So many operations fail.
    pub(super) failures: AtomicU64,
}

#[derive(Default)]
struct State {
    calls: HashMap<Route, VecDeque<Waiting>>,
    reports: HashMap<String, VecDeque<Waiting>>,
    given_out: HashMap<String, GivenOut>,
    claims: HashMap<WorkerCallId, Claim>,
    leases: HashMap<String, (Bytes, Instant)>,
    orders: Vec<Bytes>,
    /// All messages of calls and reports.
    sent: Vec<Bytes>,
    receipts: u64,
    places: u64,
}

#[derive(Clone)]
struct Waiting {
    message: Bytes,
    deliveries: u64,
    /// That of the call that was sent last.
    place: u64,
    sent: SystemTime,
    not_before: Instant,
}

enum Queue {
    Calls(Route),
    Reports(String),
}

struct GivenOut {
    queue: Queue,
    waiting: Waiting,
    until: Instant,
}

/// The carrier.
#[derive(Clone)]
pub(super) struct MemoryCarrier {
    timers: tokio::runtime::Handle,
    state: Arc<Mutex<State>>,
    pub(super) faults: Arc<Faults>,
}

impl MemoryCarrier {
    pub(super) fn new() -> Self {
        Self {
            timers: tokio::runtime::Handle::current(),
            state: Arc::default(),
            faults: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// All that was sent, as text.
    pub(super) fn sent(&self) -> String {
        let state = self.state();
        let texts = state
            .sent
            .iter()
            .map(|bytes| String::from_utf8_lossy(bytes));
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Messages that nobody has acknowledged.
    pub(super) fn left(&self) -> usize {
        let state = self.state();
        let queues = state.calls.values().chain(state.reports.values());
        queues.map(VecDeque::len).sum::<usize>() + state.given_out.len()
    }

    fn fails(&self) -> Result<(), CarrierError> {
        if take_one(&self.faults.failures) {
            return Err(CarrierError::Unreachable("a fault of the test".to_owned()));
        }
        Ok(())
    }

    fn done<'a, T: Send + 'a>(&self, value: impl FnOnce(&mut State) -> T) -> Carrying<'a, T> {
        let done = self.fails().map(|()| value(&mut self.state()));
        async move { done }.boxed()
    }
}

/// Takes one from a number. Returns false if it is zero.
fn take_one(number: &AtomicU64) -> bool {
    let less = |number: u64| number.checked_sub(1);
    number.fetch_update(Relaxed, Relaxed, less).is_ok()
}

impl State {
    fn queue(&mut self, queue: &Queue) -> &mut VecDeque<Waiting> {
        match queue {
            Queue::Calls(route) => self.calls.entry(route.clone()).or_default(),
            Queue::Reports(origin) => self.reports.entry(origin.clone()).or_default(),
        }
    }

    fn put(&mut self, queue: &Queue, message: Bytes, age: u64) {
        let waiting = Waiting {
            message,
            deliveries: 0,
            place: self.places,
            sent: SystemTime::now() - Duration::from_secs(age),
            not_before: Instant::now(),
        };
        self.queue(queue).push_back(waiting);
    }

    fn give_back_late(&mut self) {
        let now = Instant::now();
        let late = self.given_out.extract_if(|_, given| given.until <= now);
        for (_, given) in late.collect::<Vec<_>>() {
            self.queue(&given.queue).push_back(given.waiting);
        }
    }

    fn next_of(&mut self, queue: Queue) -> Option<Delivery> {
        let now = Instant::now();
        let waiting = self.queue(&queue);
        let ready = waiting.iter().position(|one| one.not_before <= now)?;
        let mut waiting = waiting.remove(ready)?;
        waiting.deliveries += 1;
        self.receipts += 1;
        let receipt = format!("receipt-{}", self.receipts);
        let (message, deliveries) = (waiting.message.clone(), waiting.deliveries);
        let sent = waiting.sent;
        let until = now + AGAIN;
        let given = GivenOut {
            queue,
            waiting,
            until,
        };
        self.given_out.insert(receipt.clone(), given);
        Some(Delivery {
            message,
            deliveries,
            sent,
            receipt,
        })
    }
}

struct Receiving {
    carrier: MemoryCarrier,
    from: Vec<Route>,
    origin: Option<String>,
    /// How many orders were returned; none if it returns none.
    orders: Option<usize>,
}

impl Receiving {
    fn try_next(&mut self) -> Option<Delivery> {
        let mut state = self.carrier.state();
        state.give_back_late();
        if let Some(seen) = &mut self.orders {
            let message = state.orders.get(*seen)?.clone();
            *seen += 1;
            return Some(Delivery {
                message,
                deliveries: 1,
                sent: SystemTime::now(),
                receipt: String::new(),
            });
        }
        if let Some(origin) = &self.origin {
            return state.next_of(Queue::Reports(origin.clone()));
        }
        let mut routes = self.from.iter();
        routes.find_map(|route| state.next_of(Queue::Calls(route.clone())))
    }
}

impl Deliveries for Receiving {
    fn next(&mut self) -> BoxFuture<'_, Option<Delivery>> {
        Box::pin(async move {
            loop {
                if let Some(delivery) = self.try_next() {
                    return Some(delivery);
                }
                // Whoever waits may have no timers.
                let timer = async { tokio::time::sleep(Duration::from_millis(1)).await };
                let timer = self.carrier.timers.spawn(timer);
                timer.await.unwrap();
            }
        })
    }
}

impl Carrier for MemoryCarrier {
    fn send_call<'a>(
        &'a self,
        to: &'a Route,
        _: &'a WorkerCallId,
        _: u32,
        call: Bytes,
    ) -> Carrying<'a, String> {
        let copies = self.faults.copies.load(Relaxed);
        let age = self.faults.age.load(Relaxed);
        let is_lost = take_one(&self.faults.lost_calls);
        self.done(|state| {
            state.sent.push(call.clone());
            state.places += 1;
            for _ in 0..=copies {
                if !is_lost {
                    state.put(&Queue::Calls(to.clone()), call.clone(), age);
                }
            }
            state.places.to_string()
        })
    }

    fn is_stored<'a>(&'a self, place: &'a str) -> Carrying<'a, bool> {
        self.done(|state| {
            let mut queues = state.calls.values().flatten();
            let mut given = state.given_out.values().map(|given| &given.waiting);
            let is_there = |waiting: &Waiting| waiting.place.to_string() == place;
            queues.any(is_there) || given.any(is_there)
        })
    }

    fn withdraw<'a>(&'a self, place: &'a str) -> Carrying<'a, ()> {
        self.done(|state| {
            let stays = |waiting: &Waiting| waiting.place.to_string() != place;
            state
                .calls
                .values_mut()
                .for_each(|queue| queue.retain(stays));
            state.given_out.retain(|_, given| stays(&given.waiting));
        })
    }

    fn clean<'a>(&'a self, _: &'a WorkerCallId) -> Carrying<'a, ()> {
        self.done(|_| ())
    }

    fn calls<'a>(&'a self, from: &'a [Route], _: usize) -> Carrying<'a, Box<dyn Deliveries>> {
        let receiving = Receiving {
            carrier: self.clone(),
            from: from.to_vec(),
            origin: None,
            orders: None,
        };
        self.done(|_| Box::new(receiving) as Box<dyn Deliveries>)
    }

    fn send_report<'a>(
        &'a self,
        origin: &'a str,
        _: &'a WorkerCallId,
        report: Bytes,
    ) -> Carrying<'a, ()> {
        let is_lost = take_one(&self.faults.lost_reports);
        self.done(|state| {
            state.sent.push(report.clone());
            if !is_lost {
                state.put(&Queue::Reports(origin.to_owned()), report, 0);
            }
        })
    }

    fn reports<'a>(&'a self, origin: &'a str) -> Carrying<'a, Box<dyn Deliveries>> {
        let receiving = Receiving {
            carrier: self.clone(),
            from: Vec::new(),
            origin: Some(origin.to_owned()),
            orders: None,
        };
        self.done(|_| Box::new(receiving) as Box<dyn Deliveries>)
    }

    fn acknowledge<'a>(&'a self, receipt: &'a str) -> Carrying<'a, ()> {
        self.done(|state| drop(state.given_out.remove(receipt)))
    }

    fn in_progress<'a>(&'a self, receipt: &'a str) -> Carrying<'a, ()> {
        self.done(|state| {
            if let Some(given) = state.given_out.get_mut(receipt) {
                given.until = Instant::now() + AGAIN;
            }
        })
    }

    fn give_back<'a>(&'a self, receipt: &'a str, after: Duration) -> Carrying<'a, ()> {
        self.done(|state| {
            if let Some(mut given) = state.given_out.remove(receipt) {
                given.waiting.not_before = Instant::now() + after.min(AGAIN);
                state.queue(&given.queue).push_back(given.waiting);
            }
        })
    }

    fn acknowledge_within(&self) -> Duration {
        AGAIN
    }

    fn tell(&self, order: Bytes) -> Carrying<'_, ()> {
        self.done(|state| state.orders.push(order))
    }

    fn orders(&self) -> Carrying<'_, Box<dyn Deliveries>> {
        let receiving = Receiving {
            carrier: self.clone(),
            from: Vec::new(),
            origin: None,
            orders: Some(self.state().orders.len()),
        };
        self.done(|_| Box::new(receiving) as Box<dyn Deliveries>)
    }

    fn claim<'a>(&'a self, id: &'a WorkerCallId, holder: Bytes) -> Carrying<'a, Claimed> {
        self.done(|state| {
            if let Some(there) = state.claims.get(id) {
                return Claimed::Before(there.clone());
            }
            let revision = 1;
            let own = Claim { holder, revision };
            state.claims.insert(id.clone(), own);
            Claimed::Now(SystemTime::now())
        })
    }

    fn take_over<'a>(
        &'a self,
        id: &'a WorkerCallId,
        revision: u64,
        holder: Bytes,
    ) -> Carrying<'a, bool> {
        self.done(|state| match state.claims.get_mut(id) {
            Some(claim) if claim.revision == revision => {
                claim.revision += 1;
                claim.holder = holder;
                true
            }
            Some(_) | None => false,
        })
    }

    fn forget<'a>(&'a self, id: &'a WorkerCallId) -> Carrying<'a, ()> {
        self.done(|state| drop(state.claims.remove(id)))
    }

    fn keep_lease<'a>(&'a self, lease: &'a WorkerLease) -> Carrying<'a, ()> {
        let until = Instant::now() + LEASE;
        self.done(|state| {
            let says = lease.says.clone();
            state.leases.insert(lease.worker.clone(), (says, until));
        })
    }

    fn end_lease<'a>(&'a self, worker: &'a str) -> Carrying<'a, ()> {
        self.done(|state| drop(state.leases.remove(worker)))
    }

    fn leases(&self) -> Carrying<'_, Vec<WorkerLease>> {
        self.done(|state| {
            let now = Instant::now();
            state.leases.retain(|_, (_, until)| *until > now);
            let lease = |(worker, (says, _)): (&String, &(Bytes, Instant))| WorkerLease {
                worker: worker.clone(),
                says: says.clone(),
            };
            state.leases.iter().map(lease).collect()
        })
    }

    fn lease_time(&self) -> Duration {
        LEASE
    }
}

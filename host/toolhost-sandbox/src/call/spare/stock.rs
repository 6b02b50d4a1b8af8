//! The spare instances of one component.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use toolhost_contract::Limits;

use super::budget::SpareBudget;
use crate::accounting::quota::QuotaGuard;
use crate::call::instantiated::Instantiated;
use crate::call::resource_limiter::MemoryLimiter;
use crate::sync::lock;

/// Time in which a component is called twice if it is called often.
pub(super) const OFTEN: Duration = Duration::from_secs(1);

/// An instance that no call has touched.
pub(crate) struct Spare {
    pub(super) fresh: Instantiated,
    pub(super) _stack_and_tables: [QuotaGuard; 2],
}

/// The spare instances of one component. Dropping it drops them.
pub(crate) struct Spares(pub(super) Arc<Stock>);

/// The same, shared with the task that makes them.
pub(super) struct Stock {
    pub(super) budget: Arc<SpareBudget>,
    state: Mutex<StockState>,
    /// Wakes the task that makes spare instances.
    pub(super) wake: Notify,
}

struct StockState {
    spares: Vec<Spare>,
    /// Spare instances that are kept ready: more where calls found none.
    wanted: usize,
    maker: Maker,
    /// Whether no other could be made since the last look at how often the component is called.
    is_full: bool,
    calls: u64,
    last_call: Option<Instant>,
    is_called_often: bool,
    /// The limits of the last call that found no spare instance.
    limits: Limits,
}

/// The task that makes the spare instances of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Maker {
    None,
    Asleep,
    Awake,
    /// The component can have no spare instance, or is gone.
    Never,
}

/// What is to be done after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Nothing,
    Wake,
    Start,
}

impl Spares {
    pub(crate) fn new(budget: &Arc<SpareBudget>) -> Self {
        Self(Arc::new(Stock {
            budget: Arc::clone(budget),
            state: Mutex::new(StockState {
                spares: Vec::new(),
                wanted: 1,
                maker: Maker::None,
                is_full: false,
                calls: 0,
                last_call: None,
                is_called_often: false,
                limits: Limits::default(),
            }),
            wake: Notify::new(),
        }))
    }

    /// Takes a spare instance for a call that starts now, and has `memory` count what it holds. Returns
    /// none where there is none that was made under the limits of the call, or where a limit on the
    /// memory of all calls refuses it.
    pub(crate) fn take(&self, memory: &mut MemoryLimiter, now: Instant) -> Option<Instantiated> {
        let stock = &*self.0;
        let taken = stock.take(memory.limits(), now);
        let spare = taken.inspect(|_| stock.count_removed(1))?;
        // Dropped outside the lock where it does not serve the call.
        let fits =
            alike(spare.fresh.limits(), memory.limits()) && memory.adopt(spare.fresh.memory());
        fits.then(|| {
            stock.budget.counters().used.fetch_add(1, Relaxed);
            spare.fresh
        })
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        self.0.end(End::Never);
        self.0.wake.notify_one();
    }
}

/// Whether instantiation goes the same way under both limits.
fn alike(one: &Limits, other: &Limits) -> bool {
    one.memory_bytes == other.memory_bytes
        && one.table_elements == other.table_elements
        && one.instances == other.instances
        && one.handles == other.handles
        && one.hostcall_bytes == other.hostcall_bytes
}

/// Why the task that makes spare instances ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The component is not called any more.
    Unused,
    /// It can have no spare instance, or is gone.
    Never,
}

impl Stock {
    /// Returns a spare instance with the limits of the call, or else the oldest, to be dropped.
    fn take(&self, limits: &Limits, now: Instant) -> Option<Spare> {
        let mut state = lock(&self.state);
        let last = state.last_call.replace(now);
        state.calls += 1;
        state.is_called_often =
            last.is_some_and(|last| now.saturating_duration_since(last) < OFTEN);
        let suits = |spare: &Spare| alike(spare.fresh.limits(), limits);
        if let Some(at) = state.spares.iter().rposition(suits) {
            return Some(state.spares.remove(at));
        }
        state.limits.clone_from(limits);
        if matches!(state.maker, Maker::Asleep | Maker::Awake) && self.budget.has_idle_core(now) {
            state.wanted = state.wanted.saturating_mul(2).min(self.budget.most);
        }
        (!state.spares.is_empty()).then(|| state.spares.remove(0))
    }

    /// Returns what is to be done after a call, and expects it to be done.
    pub(super) fn after_call(&self, now: Instant) -> Next {
        if !self.budget.has_idle_core(now) {
            return Next::Nothing;
        }
        let mut state = lock(&self.state);
        // Half of them are made at once, so that few calls wake the task.
        let is_low = state.spares.len() <= state.wanted / 2 && !state.is_full;
        let next = match state.maker {
            Maker::None if state.is_called_often => Next::Start,
            Maker::Asleep if is_low => Next::Wake,
            Maker::None | Maker::Asleep | Maker::Awake | Maker::Never => Next::Nothing,
        };
        if next != Next::Nothing {
            state.maker = Maker::Awake;
        }
        next
    }

    /// Returns the limits under which to make another spare instance. Where none is to be made now, the
    /// task is asleep from here on.
    pub(super) fn next_limits(&self, now: Instant) -> Option<Limits> {
        let idle = self.budget.has_idle_core(now);
        let mut state = lock(&self.state);
        if state.maker == Maker::Never {
            return None;
        }
        if idle && state.spares.len() < state.wanted && !state.is_full {
            return Some(state.limits.clone());
        }
        state.maker = Maker::Asleep;
        None
    }

    /// Adds a spare instance, unless the component is gone.
    pub(super) fn put(&self, spare: Spare) {
        let counters = self.budget.counters();
        let mut state = lock(&self.state);
        let refused = if state.maker == Maker::Never {
            Some(spare)
        } else {
            counters.ready.fetch_add(1, Relaxed);
            counters.made.fetch_add(1, Relaxed);
            state.spares.push(spare);
            None
        };
        drop(state);
        drop(refused);
    }

    /// Records that the component can have no spare instance.
    pub(super) fn refuse(&self) {
        self.budget.counters().refused.fetch_add(1, Relaxed);
        self.end(End::Never);
    }

    /// Drops the spare instances when the task that made them ends.
    pub(super) fn end_task(&self) {
        self.end(End::Unused);
    }

    /// Records that no other spare instance can be made for now.
    pub(super) fn set_full(&self) {
        lock(&self.state).is_full = true;
    }

    /// Begins to look at how often the component is called. Returns how often it was called so far.
    pub(super) fn calls(&self) -> u64 {
        let mut state = lock(&self.state);
        state.is_full = false;
        state.calls
    }

    /// Whether the component was called since [`calls`](Self::calls) returned this, and is not gone.
    pub(super) fn was_called_since(&self, calls: u64) -> bool {
        let state = lock(&self.state);
        state.maker != Maker::Never && state.calls != calls
    }

    /// Drops the spare instances.
    fn end(&self, why: End) {
        let spares = {
            let mut state = lock(&self.state);
            state.maker = match (why, state.maker) {
                (End::Never, _) | (End::Unused, Maker::Never) => Maker::Never,
                (End::Unused, Maker::None | Maker::Asleep | Maker::Awake) => Maker::None,
            };
            state.wanted = 1;
            std::mem::take(&mut state.spares)
        };
        self.count_removed(spares.len());
        // Outside the lock, as their memories are reset.
        drop(spares);
    }

    fn count_removed(&self, spares: usize) {
        let ready = &self.budget.counters().ready;
        ready.fetch_sub(spares as u64, Relaxed);
    }
}

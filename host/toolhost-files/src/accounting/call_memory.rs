//! The memory of one call: that of its instance, and what the host holds for it beside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use toolhost_contract::Attempts;
use toolhost_runtime::{ComponentId, Quota};

/// Counts the memory of one call against its own limit and that of all calls.
#[derive(Debug)]
pub struct CallMemory {
    component: ComponentId,
    /// The limit of the call, in bytes.
    limit: u64,
    all_calls: Arc<Quota>,
    attempts: Arc<Attempts>,
    /// Bytes of the instance's memories, and of its HTTP handles.
    guest: AtomicU64,
    /// Bytes of what its transaction holds.
    host: AtomicU64,
    peak: AtomicU64,
    /// Whether the guest needs more than the limit of the call.
    refused: AtomicBool,
    /// Whether the guest needs more than all calls have left.
    refused_by_all: AtomicBool,
}

/// Memory that is held for a call, perhaps longer than the call runs. Gives it back when dropped.
#[derive(Debug)]
pub struct HeldMemory {
    call: Arc<CallMemory>,
    bytes: u64,
}

impl CallMemory {
    /// Counts for a call of a component. `limit` is that of the call in bytes, `all_calls` that of all calls.
    pub fn new(
        component: ComponentId,
        limit: u64,
        all_calls: Arc<Quota>,
        attempts: Arc<Attempts>,
    ) -> Self {
        Self {
            component,
            limit,
            all_calls,
            attempts,
            guest: AtomicU64::new(0),
            host: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            refused: AtomicBool::new(false),
            refused_by_all: AtomicBool::new(false),
        }
    }

    /// The limit of the call, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Holds no memory yet.
    pub fn hold(self: &Arc<Self>) -> HeldMemory {
        HeldMemory {
            call: Arc::clone(self),
            bytes: 0,
        }
    }

    /// Takes more bytes for an instance that holds `held`. Returns false, and takes none, where they exceed a limit.
    pub fn take_for_guest(&self, held: u64, more: u64) -> bool {
        self.take(held + self.host.load(Relaxed), more, &self.guest)
    }

    /// Gives back bytes of an instance.
    pub fn give_back_of_guest(&self, bytes: u64) {
        self.guest.fetch_sub(bytes, Relaxed);
        self.all_calls.give_back(self.component, bytes);
    }

    fn take(&self, held: u64, more: u64, part: &AtomicU64) -> bool {
        let sum = held.saturating_add(more);
        if sum > self.limit {
            self.refuse();
            return false;
        }
        if !self.all_calls.take(self.component, more) {
            self.refused_by_all.store(true, Relaxed);
            self.attempts.refuse_memory();
            return false;
        }
        part.fetch_add(more, Relaxed);
        self.peak.fetch_max(sum, Relaxed);
        true
    }

    /// Records that the guest needs more memory than the limit of the call.
    pub fn refuse(&self) {
        self.refused.store(true, Relaxed);
        self.attempts.refuse_memory();
    }

    /// Records that the guest got some memory after it was refused more.
    pub fn got_less(&self) {
        self.refused.store(false, Relaxed);
    }

    /// Whether the guest was last refused memory by the limit of the call.
    pub fn is_refused(&self) -> bool {
        self.refused.load(Relaxed)
    }

    /// Whether the guest was refused memory by the limit of all calls.
    pub fn is_refused_by_all(&self) -> bool {
        self.refused_by_all.load(Relaxed)
    }

    /// The most bytes that were held at once.
    pub fn peak(&self) -> u64 {
        self.peak.load(Relaxed)
    }
}

impl HeldMemory {
    /// Takes more bytes. Returns false, and takes none, where they exceed the limit of the call or of all calls.
    pub fn grow(&mut self, more: u64) -> bool {
        let call = &self.call;
        let held = call.guest.load(Relaxed) + call.host.load(Relaxed);
        let is_taken = call.take(held, more, &call.host);
        if is_taken {
            self.bytes += more;
        }
        is_taken
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        self.call.host.fetch_sub(self.bytes, Relaxed);
        self.call
            .all_calls
            .give_back(self.call.component, self.bytes);
    }
}

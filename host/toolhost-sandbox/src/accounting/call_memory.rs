//! Memory that the host holds for a call beside its instance.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use toolhost_runtime::Quota;

use crate::accounting::meter::Meter;

/// What counts the memory of one call: its own limit, and that of all calls.
#[derive(Debug, Clone)]
pub(crate) struct CallMemory {
    meter: Arc<Meter>,
    all_calls: Arc<Quota>,
}

/// Memory that is held for a call, perhaps longer than the call runs. Gives it back when dropped.
#[derive(Debug)]
pub(crate) struct HeldMemory {
    call: CallMemory,
    bytes: u64,
}

impl CallMemory {
    pub(crate) fn new(meter: Arc<Meter>, all_calls: Arc<Quota>) -> Self {
        Self { meter, all_calls }
    }

    /// Holds no memory yet.
    pub(crate) fn hold(&self) -> HeldMemory {
        HeldMemory {
            call: self.clone(),
            bytes: 0,
        }
    }
}

impl HeldMemory {
    /// Takes more bytes. Returns false, and takes none, where they exceed the limit of the call or of all calls.
    #[must_use]
    pub(crate) fn grow(&mut self, more: u64) -> bool {
        let CallMemory { meter, all_calls } = &self.call;
        let held = meter.guest_memory.load(Relaxed) + meter.host_memory.load(Relaxed);
        let sum = held.saturating_add(more);
        if sum > meter.limits.memory_bytes {
            meter.refuse_memory();
            return false;
        }
        if !all_calls.take(meter.component, more) {
            meter.refuse_memory_of_pool();
            return false;
        }
        meter.host_memory.fetch_add(more, Relaxed);
        meter.memory_peak.fetch_max(sum, Relaxed);
        self.bytes += more;
        true
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        let CallMemory { meter, all_calls } = &self.call;
        meter.host_memory.fetch_sub(self.bytes, Relaxed);
        all_calls.give_back(meter.component, self.bytes);
    }
}

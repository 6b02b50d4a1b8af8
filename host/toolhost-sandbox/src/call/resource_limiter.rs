//! Memory: the sum of one call, and of all calls. It is the guest's linear memories, and what the host
//! holds for its handles.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use wasmtime::ResourceLimiter;

use crate::accounting::meter::Meter;
use crate::accounting::quota::Shares;
use crate::component_id::ComponentId;
use crate::engine::settings::{INSTANCES, MEMORIES, TABLES};

/// What must be free for one more call to start, in bytes: a smaller rest only lets it fail.
const ROOM_TO_START: u64 = 16 << 20;

/// Whether one more call of a component could do with what is free of the memory of all calls.
pub(crate) fn has_room(memory: &Shares, component: ComponentId) -> bool {
    memory.would_give(component, ROOM_TO_START)
}

/// Holds one call to its sums; gives back what it held when dropped.
pub(crate) struct MemoryLimiter {
    pool: Arc<Shares>,
    meter: Arc<Meter>,
    held: u64,
    /// What of it is held for handles.
    handles: u64,
    last: u64,
    elements: u64,
}

impl MemoryLimiter {
    pub(crate) fn new(pool: Arc<Shares>, meter: Arc<Meter>) -> Self {
        Self {
            pool,
            meter,
            held: 0,
            handles: 0,
            last: 0,
            elements: 0,
        }
    }

    /// Counts what the host holds for the guest's handles now. False where it is too much.
    pub(crate) fn holds_for_handles(&mut self, bytes: u64) -> bool {
        if let Some(more) = bytes.checked_sub(self.handles) {
            if !self.take(more) {
                return false;
            }
        } else {
            self.give_back(self.handles - bytes);
        }
        self.handles = bytes;
        true
    }

    fn take(&mut self, more: u64) -> bool {
        let sum = self.held.saturating_add(more);
        if sum > self.meter.limits.memory_bytes {
            self.meter.memory_refused.store(true, Relaxed);
            return false;
        }
        if !self.pool.take(self.meter.component, more) {
            self.meter.pool_refused.store(true, Relaxed);
            return false;
        }
        self.held = sum;
        self.meter.memory_peak.fetch_max(sum, Relaxed);
        true
    }

    fn give_back(&mut self, bytes: u64) {
        self.held -= bytes;
        self.pool.give_back(self.meter.component, bytes);
    }
}

impl Drop for MemoryLimiter {
    fn drop(&mut self) {
        // Whoever waits for it is told when the call's place is given back, which comes after.
        self.pool.give_back(self.meter.component, self.held);
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let more = desired.saturating_sub(current) as u64;
        let taken = self.take(more);
        if taken {
            // A guest that was refused more and then makes do is not out of memory.
            self.meter.memory_refused.store(false, Relaxed);
            self.last = more;
        }
        Ok(taken)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        let last = std::mem::take(&mut self.last);
        self.give_back(last);
        Ok(())
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let sum = self
            .elements
            .saturating_add(desired.saturating_sub(current) as u64);
        if sum > self.meter.limits.table_elements {
            return Ok(false);
        }
        self.elements = sum;
        Ok(true)
    }

    // However instances get their memory, no component has more of them than a slot of the pool has.
    fn instances(&self) -> usize {
        self.meter.limits.instances.min(INSTANCES as usize)
    }

    fn tables(&self) -> usize {
        self.meter.limits.instances.min(TABLES as usize)
    }

    fn memories(&self) -> usize {
        self.meter.limits.instances.min(MEMORIES as usize)
    }
}

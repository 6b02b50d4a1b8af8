//! Linear memory: the sum of one call, and of all calls.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use wasmtime::ResourceLimiter;

use crate::engine::{INSTANCES, MEMORIES, TABLES};
use crate::meter::Meter;
use crate::places::ComponentId;
use crate::shares::Shares;

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
    last: u64,
    elements: u64,
}

impl MemoryLimiter {
    pub(crate) fn new(pool: Arc<Shares>, meter: Arc<Meter>) -> Self {
        Self {
            pool,
            meter,
            held: 0,
            last: 0,
            elements: 0,
        }
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
        let sum = self.held.saturating_add(more);
        if sum > self.meter.limits.memory_bytes {
            self.meter.memory_refused.store(true, Relaxed);
            return Ok(false);
        }
        if !self.pool.take(self.meter.component, more) {
            self.meter.pool_refused.store(true, Relaxed);
            return Ok(false);
        }
        // A guest that was refused more and then makes do is not out of memory.
        self.meter.memory_refused.store(false, Relaxed);
        self.held = sum;
        self.last = more;
        self.meter.memory_peak.fetch_max(sum, Relaxed);
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.held -= self.last;
        self.pool.give_back(self.meter.component, self.last);
        self.last = 0;
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

//! Linear memory: the sum of one call, and of all calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use wasmtime::ResourceLimiter;

use crate::meter::Meter;

/// What must be free for one more call to start, in bytes: a smaller rest only lets it fail.
const ROOM_TO_START: u64 = 16 << 20;

/// Memory of all running calls.
#[derive(Debug)]
pub(crate) struct MemoryPool {
    limit: u64,
    used: AtomicU64,
}

impl MemoryPool {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            used: AtomicU64::new(0),
        }
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    pub(crate) fn has_room(&self) -> bool {
        self.used.load(SeqCst) <= self.limit.saturating_sub(ROOM_TO_START)
    }

    fn reserve(&self, bytes: u64) -> bool {
        let fits = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.limit);
        self.used.fetch_update(SeqCst, Relaxed, fits).is_ok()
    }

    fn release(&self, bytes: u64) {
        // Whoever waits for it is told when the call's place is given back, which comes after.
        self.used.fetch_sub(bytes, SeqCst);
    }
}

/// Holds one call to its sums; gives back what it held when dropped.
pub(crate) struct MemoryLimiter {
    pool: Arc<MemoryPool>,
    meter: Arc<Meter>,
    held: u64,
    last: u64,
    elements: u64,
}

impl MemoryLimiter {
    pub(crate) fn new(pool: Arc<MemoryPool>, meter: Arc<Meter>) -> Self {
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
        self.pool.release(self.held);
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
        if !self.pool.reserve(more) {
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
        self.pool.release(self.last);
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

    fn instances(&self) -> usize {
        self.meter.limits.instances
    }

    fn tables(&self) -> usize {
        self.meter.limits.instances
    }

    fn memories(&self) -> usize {
        self.meter.limits.instances
    }
}

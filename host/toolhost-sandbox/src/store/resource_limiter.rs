//! Limits the memory of one call, and counts it against the memory of all calls. It is the sum of the
//! guest's linear memories, of what the host holds for its HTTP handles, and of what its transaction holds.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use wasmtime::ResourceLimiter;

use crate::engine::memory::creator::CannotGrow;
use crate::engine::settings::{INSTANCES, MEMORIES, TABLES};
use crate::store::meters::CallMeters;

/// Limits the memories and tables of one call. Gives back the memory when dropped.
pub(crate) struct MemoryLimiter {
    meters: Arc<CallMeters>,
    held: u64,
    /// The part of `held` that is for handles.
    handles: u64,
    /// The last growth of a linear memory.
    last_growth: u64,
    table_elements: u64,
}

impl MemoryLimiter {
    pub(crate) fn new(meters: &Arc<CallMeters>) -> Self {
        Self {
            meters: Arc::clone(meters),
            held: 0,
            handles: 0,
            last_growth: 0,
            table_elements: 0,
        }
    }

    /// What the host holds for the guest's handles, in bytes.
    pub(crate) fn handle_bytes(&self) -> u64 {
        self.handles
    }

    /// Sets what the host holds for the guest's handles. Returns false where it exceeds a limit.
    pub(crate) fn set_handle_bytes(&mut self, bytes: u64) -> bool {
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
        let is_taken = self.meters.memory.take_for_guest(self.held, more);
        if is_taken {
            self.held += more;
        }
        is_taken
    }

    fn give_back(&mut self, bytes: u64) {
        self.held -= bytes;
        self.meters.memory.give_back_of_guest(bytes);
    }
}

impl Drop for MemoryLimiter {
    fn drop(&mut self) {
        // Waiting calls are woken when the call slot is dropped, which comes later.
        self.meters.memory.give_back_of_guest(self.held);
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current) as u64;
        if let Some(maximum) = maximum.filter(|maximum| desired > *maximum) {
            // Such as the 4 GiB of any memory with addresses of 32 bits: the call's limit is the lower one.
            if maximum as u64 >= self.meters.limits.memory_bytes {
                self.meters.memory.refuse();
            }
            return Ok(false);
        }
        let taken = self.take(more);
        if taken {
            // A guest that was refused some memory and then got less is not out of memory.
            self.meters.memory.got_less();
            self.last_growth = more;
        }
        Ok(taken)
    }

    /// The engine may call this also for growth that it refuses before it asks [`Self::memory_growing`], as
    /// it does for memories with small pages. Then `last_growth` is of an earlier growth, which the guest
    /// still has.
    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        if error.is::<CannotGrow>() {
            let last = std::mem::take(&mut self.last_growth);
            self.give_back(last);
        }
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
            .table_elements
            .saturating_add(desired.saturating_sub(current) as u64);
        if sum > self.meters.limits.table_elements {
            self.meters.table_refused.store(true, Relaxed);
            return Ok(false);
        }
        self.table_elements = sum;
        Ok(true)
    }

    // The same limits hold where there is no pool.
    fn instances(&self) -> usize {
        self.meters.limits.instances.min(INSTANCES as usize)
    }

    fn tables(&self) -> usize {
        self.meters.limits.instances.min(TABLES as usize)
    }

    fn memories(&self) -> usize {
        self.meters.limits.instances.min(MEMORIES as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use toolhost_contract::Limits;
    use toolhost_runtime::{ComponentId, Quota};

    use super::*;

    fn limiter(memory_bytes: u64) -> (MemoryLimiter, Arc<Quota>) {
        let all = Arc::new(Quota::new(1 << 30, 3));
        let limits = Limits {
            memory_bytes,
            ..Limits::default()
        };
        let meters = CallMeters::new(ComponentId(1), limits, &all, &all, None, None);
        (MemoryLimiter::new(&Arc::new(meters)), all)
    }

    #[test]
    fn growth_that_the_engine_refuses_by_itself_gives_back_no_earlier_growth() {
        let (mut limiter, all) = limiter(1_000);
        assert!(limiter.memory_growing(0, 800, None).unwrap());
        let by_engine = || wasmtime::Error::msg("memory growth exceeds memory type's limits");
        for _ in 0..3 {
            limiter.memory_grow_failed(by_engine()).unwrap();
            assert_eq!(all.held(), 800);
            assert!(!limiter.memory_growing(800, 1_600, None).unwrap());
        }
        assert!(limiter.memory_growing(800, 1_000, None).unwrap());
        // What the host could not provide is given back, once.
        let failed = || CannotGrow(io::ErrorKind::OutOfMemory.into()).into();
        limiter.memory_grow_failed(failed()).unwrap();
        assert_eq!(all.held(), 800);
        limiter.memory_grow_failed(failed()).unwrap();
        assert_eq!(all.held(), 800);
        drop(limiter);
        assert_eq!(all.held(), 0);
    }

    #[test]
    fn what_a_transaction_holds_and_what_its_guest_holds_have_one_limit() {
        let (mut limiter, all) = limiter(1_000);
        let memory = Arc::clone(&limiter.meters.memory);
        let mut held = memory.hold();
        assert!(held.grow(400));
        assert!(!limiter.memory_growing(0, 601, None).unwrap());
        assert!(limiter.memory_growing(0, 600, None).unwrap());
        assert!(!held.grow(1));
        assert_eq!(all.held(), 1_000);
        assert_eq!(memory.peak(), 1_000);
        // The transaction outlives the instance until it is committed.
        drop(limiter);
        assert_eq!(all.held(), 400);
        assert!(held.grow(600));
        drop(held);
        assert_eq!(all.held(), 0);
        assert!(memory.take_for_guest(0, 1_000));
    }
}

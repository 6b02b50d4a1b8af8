//! Memory that connections share, counted before it is used.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of a permit.
const UNIT_BYTES: usize = 1 << 10;

/// Bytes that a parsed JSON value is counted as.
const VALUE_BYTES: u64 = 100;

/// Converts bytes to permits; at least one.
pub(crate) fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT_BYTES).clamp(1, Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX)
}

/// Creates the memory that all connections share.
pub(crate) fn shared(bytes: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(permits(bytes) as usize))
}

/// The bytes that a line takes with its parsed values.
pub(crate) fn of_line(bytes: usize, values: u64) -> usize {
    let values = usize::try_from(values.saturating_mul(VALUE_BYTES)).unwrap_or(usize::MAX);
    bytes.saturating_add(values)
}

/// The memory of one connection, within that of all.
#[derive(Debug)]
pub(crate) struct Memory {
    pool: Arc<Semaphore>,
    /// All of `pool`.
    pool_permits: u32,
    shared_pool: Arc<Semaphore>,
}

/// Memory in use, until it is dropped.
#[derive(Debug)]
pub(crate) struct MemoryCharge {
    _pool: OwnedSemaphorePermit,
    _shared_pool: OwnedSemaphorePermit,
}

impl Memory {
    pub(crate) fn new(bytes: usize, shared_pool: &Arc<Semaphore>) -> Self {
        let pool_permits = permits(bytes);
        Self {
            pool: Arc::new(Semaphore::new(pool_permits as usize)),
            pool_permits,
            shared_pool: Arc::clone(shared_pool),
        }
    }

    /// Takes memory; none if there is not enough. What exceeds all the memory of the connection takes
    /// all of it.
    pub(crate) fn take(&self, bytes: usize) -> Option<MemoryCharge> {
        let permits = permits(bytes).min(self.pool_permits);
        let take = |pool: &Arc<Semaphore>| Arc::clone(pool).try_acquire_many_owned(permits).ok();
        Some(MemoryCharge {
            _pool: take(&self.pool)?,
            _shared_pool: take(&self.shared_pool)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_takes_its_share_and_all_take_no_more_than_there_is() {
        let pool = shared(10 << 10);
        let (one, other) = (Memory::new(8 << 10, &pool), Memory::new(8 << 10, &pool));
        let charge = one.take(6 << 10);
        assert!(charge.is_some());
        assert!(one.take(3 << 10).is_none(), "beyond its own");
        assert!(other.take(5 << 10).is_none(), "beyond that of all");
        assert_eq!(pool.available_permits(), 4, "a refusal takes nothing");
        assert!(other.take(4 << 10).is_some());
        drop(charge);
        assert!(one.take(usize::MAX).is_some(), "all of its own");
        assert_eq!(pool.available_permits(), 10);
        assert!(one.take(0).is_some());
    }
}

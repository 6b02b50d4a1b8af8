//! Locks by handle. A lock exists only while it is held or awaited.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::record::Handle;

/// The lock of each handle that is polled now.
pub(super) type HandleLocks = Mutex<HashMap<Handle, Arc<tokio::sync::Mutex<()>>>>;

/// The lock of one handle. The last one dropped removes it from the map.
pub(super) struct PerHandleLock<'a> {
    all: &'a HandleLocks,
    handle: Handle,
    pub(super) lock: Arc<tokio::sync::Mutex<()>>,
}

impl<'a> PerHandleLock<'a> {
    pub(super) fn of(all: &'a HandleLocks, handle: Handle) -> Self {
        let mut locks = all.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = Arc::clone(locks.entry(handle.clone()).or_default());
        drop(locks);
        Self { all, handle, lock }
    }
}

impl Drop for PerHandleLock<'_> {
    fn drop(&mut self) {
        let mut locks = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        // Two references, this one and the one in the map: no other task waits.
        if Arc::strong_count(&self.lock) == 2 {
            locks.remove(&self.handle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lock_is_removed_with_its_last_user() {
        let all = HandleLocks::default();
        let handle = Handle::parse(&format!("pending_{}", "a".repeat(32))).unwrap();
        let left = || all.lock().unwrap().len();
        {
            let first = PerHandleLock::of(&all, handle.clone());
            let _locked = first.lock.lock().await;
            let second = PerHandleLock::of(&all, handle.clone());
            let waits = async { drop(second.lock.lock().await) };
            let gave_up = tokio::time::timeout(std::time::Duration::from_millis(1), waits).await;
            assert!(gave_up.is_err(), "one at a time");
            drop(second);
            assert_eq!(left(), 1);
        }
        assert_eq!(left(), 0);
        // A future that was polled and is dropped.
        let cancelled = async {
            let _own = PerHandleLock::of(&all, handle);
            std::future::pending::<()>().await;
        };
        let _gone = tokio::time::timeout(std::time::Duration::from_millis(1), cancelled).await;
        assert_eq!(left(), 0);
    }
}

//! Locks by handle. A lock exists only while it is held or awaited.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

use super::record::Handle;

/// The lock of each handle that is polled now.
pub(super) type HandleLocks = Mutex<HashMap<Handle, Arc<tokio::sync::Mutex<()>>>>;

/// Holds the lock of one handle.
pub(super) struct HandleGuard {
    // Dropped first, so that the entry counts the references of others only.
    _locked: OwnedMutexGuard<()>,
    _entry: Entry,
}

/// An entry of the map. The last one dropped removes it.
struct Entry {
    all: Arc<HandleLocks>,
    handle: Handle,
    lock: Arc<tokio::sync::Mutex<()>>,
}

/// Locks a handle. Dropping the future gives up waiting.
pub(super) async fn lock_handle(all: &Arc<HandleLocks>, handle: &Handle) -> HandleGuard {
    let entry = Entry::of(all, handle);
    HandleGuard {
        _locked: Arc::clone(&entry.lock).lock_owned().await,
        _entry: entry,
    }
}

impl Entry {
    fn of(all: &Arc<HandleLocks>, handle: &Handle) -> Self {
        let mut locks = all.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = Arc::clone(locks.entry(handle.clone()).or_default());
        drop(locks);
        Self {
            all: Arc::clone(all),
            handle: handle.clone(),
            lock,
        }
    }
}

impl Drop for Entry {
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
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_lock_is_removed_with_its_last_user() {
        let all = Arc::new(HandleLocks::default());
        let handle = Handle::parse(&format!("pending_{}", "a".repeat(32))).unwrap();
        let left = || all.lock().unwrap().len();
        {
            let _held = lock_handle(&all, &handle).await;
            let second = timeout(Duration::from_millis(1), lock_handle(&all, &handle)).await;
            assert!(second.is_err(), "one at a time");
            assert_eq!(left(), 1);
        }
        assert_eq!(left(), 0);
        let held = lock_handle(&all, &handle).await;
        let waits = lock_handle(&all, &handle);
        let (second, ()) = tokio::join!(waits, async { drop(held) });
        assert_eq!(left(), 1, "it has passed on");
        drop(second);
        assert_eq!(left(), 0);
    }
}

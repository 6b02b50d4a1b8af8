//! Locks by handle. A lock exists only while it is held or awaited.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::OwnedMutexGuard;
use toolhost_runtime::lock;

use super::record::Handle;

/// The lock of each handle that is polled now, and how many hold it or wait for it.
pub(crate) type HandleLocks = Mutex<HashMap<Handle, (Arc<tokio::sync::Mutex<()>>, usize)>>;

/// Holds the lock of one handle.
pub(crate) struct HandleGuard {
    _locked: OwnedMutexGuard<()>,
    _user: User,
}

/// One that holds the lock of a handle or waits for it. The last one removes it from the map.
struct User {
    all: Arc<HandleLocks>,
    handle: Handle,
}

/// Locks a handle. Dropping the future gives up waiting.
pub(crate) async fn lock_handle(all: &Arc<HandleLocks>, handle: &Handle) -> HandleGuard {
    let (user, lock) = User::new(all, handle);
    HandleGuard {
        _locked: lock.lock_owned().await,
        _user: user,
    }
}

impl User {
    fn new(all: &Arc<HandleLocks>, handle: &Handle) -> (Self, Arc<tokio::sync::Mutex<()>>) {
        let mut locks = lock(all);
        let (lock, users) = locks.entry(handle.clone()).or_default();
        *users += 1;
        let lock = Arc::clone(lock);
        drop(locks);
        let user = Self {
            all: Arc::clone(all),
            handle: handle.clone(),
        };
        (user, lock)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let mut locks = lock(&self.all);
        if let Some((_, users)) = locks.get_mut(&self.handle) {
            *users -= 1;
            if *users == 0 {
                locks.remove(&self.handle);
            }
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

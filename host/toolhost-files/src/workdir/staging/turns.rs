//! Has the commits of one process to a workdir wait for each other without a thread.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use toolhost_runtime::lock;

/// Held while a commit to a workdir runs: other commits of the process to this workdir wait for it.
#[derive(Debug)]
pub struct CommitTurn(#[expect(dead_code, reason = "dropped")] OwnedMutexGuard<()>);

/// The turns of the workdirs of one staging root, by inode.
#[derive(Debug, Default)]
pub(super) struct CommitTurns(Mutex<HashMap<u64, Weak<AsyncMutex<()>>>>);

impl CommitTurns {
    /// Waits for the turn of a commit to the workdir with this inode. Turns are in the order of the calls.
    pub(super) async fn take(&self, inode: u64) -> CommitTurn {
        let of_workdir = {
            let mut all = lock(&self.0);
            let known = all.get(&inode).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                all.retain(|_, turn| turn.strong_count() > 0);
                let new = Arc::default();
                all.insert(inode, Arc::downgrade(&new));
                new
            })
        };
        CommitTurn(of_workdir.lock_owned().await)
    }
}

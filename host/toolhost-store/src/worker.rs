//! The store's thread: runs one job after the other, each in a transaction of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::mpsc;

use super::lease::Lease;

/// Jobs that wait for the thread before callers wait for room.
const QUEUE: usize = 1024;

/// Work for the thread.
pub(super) type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// Why a transaction was rolled back.
pub(super) enum Failure {
    Sqlite(rusqlite::Error),
    Panicked,
}

impl From<rusqlite::Error> for Failure {
    fn from(source: rusqlite::Error) -> Self {
        Self::Sqlite(source)
    }
}

/// Starts the thread. It ends when every sender is dropped and the queue is empty, and drops the lease
/// last: a run is alive until the last of its writes.
pub(super) fn start(
    mut connection: Connection,
    lease: Arc<dyn Lease>,
) -> std::io::Result<mpsc::Sender<Job>> {
    let (jobs, mut queue) = mpsc::channel::<Job>(QUEUE);
    let work = move || {
        while let Some(job) = queue.blocking_recv() {
            job(&mut connection);
        }
        drop(connection);
        drop(lease);
    };
    std::thread::Builder::new()
        .name("toolhost-store".to_owned())
        .spawn(work)?;
    Ok(jobs)
}

/// Runs `work` in a transaction; rolls it back where it fails or panics.
pub(super) fn transact<T>(
    connection: &mut Connection,
    behavior: TransactionBehavior,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> Result<T, Failure> {
    let transaction = connection.transaction_with_behavior(behavior)?;
    // Unwind safe: dropping the transaction rolls back, and nothing else is shared.
    let done = catch_unwind(AssertUnwindSafe(|| work(&transaction)));
    let done = done.map_err(|_| Failure::Panicked)??;
    transaction.commit()?;
    Ok(done)
}

//! A database of SQLite, and its thread.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};
use toolhost_files::PrivateDir;

use super::error::StoreError;
use super::open;
use super::schema::Schema;
use super::sql;

/// Jobs that wait for the thread; further callers wait until there are fewer.
const QUEUE: usize = 1024;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// One SQLite database, and one thread behind a bounded queue, for SQL that only SQLite has. Cheap to clone; the thread ends
/// after the last clone is dropped and the queue is empty.
#[derive(Clone)]
pub struct SqliteStore(Arc<Inner>);

struct Inner {
    path: PathBuf,
    jobs: mpsc::Sender<Job>,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("path", &self.0.path)
            .finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens `{state_root}/{name}`, where the state root exists, and brings the tables of `schema` up to date: for rows that no
    /// run takes over from another, and whose writes must not delay those to the database of the state root.
    ///
    /// # Errors
    /// As [`Store::open`](crate::Store::open).
    pub fn open(state_root: &Path, name: &str, schema: &Schema) -> Result<Self, StoreError> {
        let path = Self::root(state_root)?.join(name);
        let connection = open::file(&path, schema)?;
        Self::start(path, connection, ())
    }

    /// Returns the state root without links, which SQLite refuses anywhere in a path.
    pub(super) fn root(state_root: &Path) -> Result<PathBuf, StoreError> {
        let real = PrivateDir::open(state_root).and_then(|_| state_root.canonicalize());
        real.map_err(|source| StoreError::Make {
            path: state_root.to_owned(),
            source,
        })
    }

    /// Makes a database in memory.
    pub(super) fn in_memory(
        schema: &Schema,
        held: impl Send + 'static,
    ) -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let connection = open::memory(&path, schema)?;
        Self::start(path, connection, held)
    }

    /// Starts the thread. It ends when every sender is dropped and the queue is empty, and drops `held`
    /// last: a run is alive until the last of its writes.
    pub(super) fn start(
        path: PathBuf,
        mut connection: Connection,
        held: impl Send + 'static,
    ) -> Result<Self, StoreError> {
        let (jobs, mut queue) = mpsc::channel::<Job>(QUEUE);
        let work = move || {
            while let Some(job) = queue.blocking_recv() {
                job(&mut connection);
            }
            drop(connection);
            drop(held);
        };
        std::thread::Builder::new()
            .name("toolhost-store".to_owned())
            .spawn(work)
            .map_err(StoreError::Thread)?;
        Ok(Self(Arc::new(Inner { path, jobs })))
    }

    /// Runs `work` on the store's thread in a transaction that may write; commits if it returns `Ok`,
    /// and rolls back otherwise. Waits while the store's queue is full.
    ///
    /// `work` blocks every other user of the store, so it should only use the database. If this future
    /// is dropped while the job is queued, `work` is not run; work that has begun is completed.
    ///
    /// # Errors
    /// [`StoreError`] where SQLite or `work` fails, or `work` panics.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.transact(TransactionBehavior::Immediate, work).await
    }

    /// Runs `work` on the store's thread in a transaction that reads one consistent snapshot. Dropped or
    /// queued as [`write`](Self::write) is.
    ///
    /// # Errors
    /// [`StoreError`] where SQLite or `work` fails, or `work` panics.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.transact(TransactionBehavior::Deferred, work).await
    }

    /// Writes as [`write`](Self::write) does, on a thread that may wait: not one that runs futures.
    ///
    /// # Errors
    /// [`StoreError`] where SQLite or `work` fails, or `work` panics.
    pub fn blocking_write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, replied) = self.job(TransactionBehavior::Immediate, work);
        let sent = self.0.jobs.blocking_send(job);
        sent.map_err(|_| self.stopped())?;
        replied.blocking_recv().map_err(|_| self.stopped())?
    }

    pub(super) fn path(&self) -> &Path {
        &self.0.path
    }

    /// How many more jobs the queue takes.
    #[cfg(test)]
    pub(super) fn queue_capacity(&self) -> usize {
        self.0.jobs.capacity()
    }

    pub(super) async fn transact<T: Send + 'static, E: Into<sql::Error>>(
        &self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, replied) = self.job(behavior, work);
        let sent = self.0.jobs.send(job).await;
        sent.map_err(|_| self.stopped())?;
        replied.await.map_err(|_| self.stopped())?
    }

    fn job<T: Send + 'static, E: Into<sql::Error>>(
        &self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> (Job, oneshot::Receiver<Result<T, StoreError>>) {
        let (reply, replied) = oneshot::channel();
        let path = self.0.path.clone();
        let job = move |connection: &mut Connection| {
            if !reply.is_closed() {
                let done = run(connection, &path, behavior, work);
                // The caller may have been dropped meanwhile.
                let _ = reply.send(done);
            }
        };
        (Box::new(job), replied)
    }

    fn stopped(&self) -> StoreError {
        StoreError::Stopped {
            path: self.0.path.clone(),
        }
    }
}

/// Runs `work` in a transaction; rolls it back where it fails or panics.
pub(super) fn run<T, E: Into<sql::Error>>(
    connection: &mut Connection,
    path: &Path,
    behavior: TransactionBehavior,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
) -> Result<T, StoreError> {
    let sqlite = |source| StoreError::sqlite(path, source);
    open::limit_time(connection).map_err(sqlite)?;
    let transaction = connection
        .transaction_with_behavior(behavior)
        .map_err(sqlite)?;
    // Unwind safe: dropping the transaction rolls back, and nothing else is shared.
    let done = catch_unwind(AssertUnwindSafe(|| work(&transaction)));
    let panicked = |_| StoreError::Panicked {
        path: path.to_owned(),
    };
    let done = done.map_err(panicked)?;
    let done = done.map_err(|error| StoreError::of(path, error.into()))?;
    transaction.commit().map_err(sqlite)?;
    Ok(done)
}

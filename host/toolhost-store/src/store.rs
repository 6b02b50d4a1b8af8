//! The handle of the database.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};
use toolhost_files::PrivateDir;

use super::error::StoreError;
use super::lease::{FileLease, Lease, LocalLease};
use super::open;
use super::schema::Schema;

pub(super) const FILE_NAME: &str = "toolhost.db";

/// Jobs that wait for the thread; further callers wait until there are fewer.
const QUEUE: usize = 1024;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// One SQLite database, and one thread behind a bounded queue. Cheap to clone; the thread ends after the
/// last clone is dropped and the queue is empty.
///
/// A committed write survives a process that is killed at any moment. A machine that loses power may
/// lose the last writes, never the database's consistency.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    path: PathBuf,
    lease: Arc<dyn Lease>,
    jobs: mpsc::Sender<Job>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.0.path)
            .field("run_id", &self.run_id())
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens `{state_root}/toolhost.db` with a [`FileLease`], and brings the tables of `schema` up to
    /// date; makes both, readable for this user alone, where they are missing. Several processes may
    /// share a state root. Blocks, for some seconds at most if another process locks the database.
    ///
    /// The state root must be this user's, and nobody else may be able to write it. In it no link is
    /// followed, and only regular files are opened.
    ///
    /// # Errors
    /// [`StoreError`] where a file or a lock cannot be made or is not this user's, or the database is
    /// damaged, locked or of a newer version.
    pub fn open(state_root: &Path, schema: &Schema) -> Result<Self, StoreError> {
        PrivateDir::make(state_root).map_err(|source| StoreError::Make {
            path: state_root.to_owned(),
            source,
        })?;
        let state_root = Self::root(state_root)?;
        let path = state_root.join(FILE_NAME);
        let connection = open::file(&path, schema)?;
        Self::start(path, connection, Arc::new(FileLease::acquire(&state_root)?))
    }

    /// Opens another database, `{state_root}/{name}`, as [`Self::open`] does, but without a lease, and only where the state
    /// root exists: for rows that no run
    /// takes over from another, and whose writes must not delay those to `toolhost.db`.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_apart(state_root: &Path, name: &str, schema: &Schema) -> Result<Self, StoreError> {
        let path = Self::root(state_root)?.join(name);
        let connection = open::file(&path, schema)?;
        Self::start(path, connection, Arc::new(LocalLease::new()?))
    }

    /// Returns the state root without links, which SQLite refuses anywhere in a path.
    fn root(state_root: &Path) -> Result<PathBuf, StoreError> {
        let real = PrivateDir::open(state_root).and_then(|_| state_root.canonicalize());
        real.map_err(|source| StoreError::Make {
            path: state_root.to_owned(),
            source,
        })
    }

    /// Makes a store that lives as long as its clones.
    ///
    /// # Errors
    /// [`StoreError`] where the system gives no memory, thread or random bytes.
    pub fn in_memory(schema: &Schema) -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let connection = open::memory(&path, schema)?;
        Self::start(path, connection, Arc::new(LocalLease::new()?))
    }

    /// Reads from the database of a state root on this thread, and brings the tables of `schema` up to date. None where
    /// there is no database.
    ///
    /// # Errors
    /// Those of [`open`](Self::open) and of `work`.
    pub fn read_file<T>(
        state_root: &Path,
        schema: &Schema,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let path = state_root.join(FILE_NAME);
        let real = match path.canonicalize() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            real => real.map_err(|source| StoreError::Make { path, source })?,
        };
        let mut connection = open::file(&real, schema)?;
        run(&mut connection, &real, TransactionBehavior::Deferred, work).map(Some)
    }

    /// Starts the thread. It ends when every sender is dropped and the queue is empty, and drops the lease
    /// last: a run is alive until the last of its writes.
    fn start(
        path: PathBuf,
        mut connection: Connection,
        lease: Arc<dyn Lease>,
    ) -> Result<Self, StoreError> {
        let (jobs, mut queue) = mpsc::channel::<Job>(QUEUE);
        let held = Arc::clone(&lease);
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
        Ok(Self(Arc::new(Inner { path, lease, jobs })))
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

    /// Returns the id of this run of the store: see [`Lease::run_id`].
    pub fn run_id(&self) -> &str {
        self.0.lease.run_id()
    }

    /// Whether the run of this id is alive: see [`Lease::is_alive`].
    pub fn is_alive(&self, run_id: &str) -> bool {
        self.0.lease.is_alive(run_id)
    }

    /// How many more jobs the queue takes.
    #[cfg(test)]
    pub(super) fn queue_capacity(&self) -> usize {
        self.0.jobs.capacity()
    }

    async fn transact<T: Send + 'static>(
        &self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, replied) = self.job(behavior, work);
        let sent = self.0.jobs.send(job).await;
        sent.map_err(|_| self.stopped())?;
        replied.await.map_err(|_| self.stopped())?
    }

    fn job<T: Send + 'static>(
        &self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
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
fn run<T>(
    connection: &mut Connection,
    path: &Path,
    behavior: TransactionBehavior,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
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
    let done = done.map_err(panicked)?.map_err(sqlite)?;
    transaction.commit().map_err(sqlite)?;
    Ok(done)
}

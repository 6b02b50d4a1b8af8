//! What outlives a process: one SQLite database under the state root, worked by one thread.

mod open;
mod private_dir;
mod random;
mod runs;
mod schema;
mod worker;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{ErrorCode, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use self::runs::Runs;
use self::worker::{Failure, Job};

pub use self::private_dir::make_private;
pub use self::random::{is_random_text, random_text};
pub use rusqlite;

/// Name of the database in the state root.
const FILE_NAME: &str = "toolhost.db";

/// Why the store cannot be opened, or cannot do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The state root or the database's file cannot be made.
    #[error("{} cannot be made", .path.display())]
    Make {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// This run of the store cannot be marked as alive.
    #[error("the run's lock in {} cannot be taken", .dir.display())]
    Run {
        /// Where the locks of runs are.
        dir: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The system gave no random bytes.
    #[error("the system gave no random bytes")]
    Random(#[from] getrandom::Error),
    /// The store's thread cannot start.
    #[error("the store's thread cannot start")]
    Thread(#[source] std::io::Error),
    /// A later toolhost wrote the database; it was left as it is.
    #[error(
        "the database {} has version {found}, and this toolhost knows versions up to {known}: \
         use a newer toolhost or another state root",
        .path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The latest version known here.
        known: i64,
    },
    /// The file is no SQLite database, or a damaged one.
    #[error("the database {} is damaged or is no database", .path.display())]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// Where it showed.
        #[source]
        source: rusqlite::Error,
    },
    /// Another process kept the database locked for longer than the store waits.
    #[error(
        "the database {} was kept locked by another process for {} s",
        .path.display(),
        open::BUSY_TIMEOUT.as_secs()
    )]
    Busy {
        /// The database.
        path: PathBuf,
        /// Where it showed.
        #[source]
        source: rusqlite::Error,
    },
    /// SQLite failed otherwise: the disk is full, a file is read-only, a row is not what it should be.
    #[error("the database {} failed", .path.display())]
    Failed {
        /// The database.
        path: PathBuf,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// The work panicked; nothing of it was kept.
    #[error("work on the database {} panicked", .path.display())]
    Panicked {
        /// The database.
        path: PathBuf,
    },
    /// The store's thread is gone.
    #[error("the thread of the database {} is gone", .path.display())]
    Stopped {
        /// The database.
        path: PathBuf,
    },
}

impl StoreError {
    fn sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let code = source.sqlite_error_code();
        let is = |one: ErrorCode, other: ErrorCode| code == Some(one) || code == Some(other);
        let path = path.to_owned();
        if is(ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked) {
            Self::Busy { path, source }
        } else if is(ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase) {
            Self::Corrupt { path, source }
        } else {
            Self::Failed { path, source }
        }
    }
}

/// One SQLite database, one thread behind a bounded channel. Cheap to clone; the thread ends after
/// the last clone is dropped and what was queued is done.
///
/// What was written survives a process that is killed at any moment. A machine that loses power may
/// lose the last writes, never the database's consistency.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    path: PathBuf,
    runs: Runs,
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
    /// Opens `{state_root}/toolhost.db` and brings its schema up to date; makes both where they are
    /// missing, for this user alone. Blocks: at most some seconds, where another process holds it.
    ///
    /// Several processes may share a state root.
    ///
    /// # Errors
    /// [`StoreError`] where a file or a lock cannot be made, or the database is damaged, busy or of
    /// a newer version.
    pub fn open(state_root: &Path) -> Result<Self, StoreError> {
        private_dir::make_private(state_root).map_err(|source| StoreError::Make {
            path: state_root.to_owned(),
            source,
        })?;
        let path = state_root.join(FILE_NAME);
        let connection = open::file(&path)?;
        let (runs, lock) = Runs::begin(state_root)?;
        let jobs = worker::start(connection, Some(lock)).map_err(StoreError::Thread)?;
        Ok(Self(Arc::new(Inner { path, runs, jobs })))
    }

    /// Makes a store that lives as long as its clones.
    ///
    /// # Errors
    /// [`StoreError`] where the system gives no memory, thread or random bytes.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let connection = open::memory(&path)?;
        let runs = Runs::alone()?;
        let jobs = worker::start(connection, None).map_err(StoreError::Thread)?;
        Ok(Self(Arc::new(Inner { path, runs, jobs })))
    }

    /// Runs `work` on the store's thread in a transaction that may write; commits where it returns
    /// `Ok`, and keeps nothing of it otherwise. Waits while the store's queue is full.
    ///
    /// `work` holds up every other user of the store: it only talks to the database. Where this future
    /// is dropped before its turn, `work` is not run; once begun it is done whole.
    ///
    /// # Errors
    /// [`StoreError`] where SQLite or `work` fails, or `work` panics.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.transact(TransactionBehavior::Immediate, work).await
    }

    /// Runs `work` on the store's thread in a transaction that reads: everything in it is of one
    /// moment. Dropped or queued as [`write`](Self::write) is.
    ///
    /// # Errors
    /// [`StoreError`] where SQLite or `work` fails, or `work` panics.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.transact(TransactionBehavior::Deferred, work).await
    }

    /// Id of this run of the store: its rows are told from those of a process that died.
    pub fn run_id(&self) -> &str {
        self.0.runs.own_id()
    }

    /// Whether the store of another run id is still open in a living process. Once false, always
    /// false: an id is never used again.
    pub fn is_alive(&self, run_id: &str) -> bool {
        self.0.runs.is_alive(run_id)
    }

    async fn transact<T: Send + 'static>(
        &self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            if !reply.is_closed() {
                let done = worker::transact(connection, behavior, work);
                // Whoever asked may have gone meanwhile.
                let _ = reply.send(done);
            }
        });
        let path = &self.0.path;
        let stopped = || StoreError::Stopped { path: path.clone() };
        self.0.jobs.send(job).await.map_err(|_| stopped())?;
        let done = answer.await.map_err(|_| stopped())?;
        done.map_err(|failure| match failure {
            Failure::Sqlite(source) => StoreError::sqlite(path, source),
            Failure::Panicked => StoreError::Panicked { path: path.clone() },
        })
    }
}

#[cfg(test)]
mod second_process;
#[cfg(test)]
mod tests;

//! The database of a state root, for all owners of tables.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rusqlite::TransactionBehavior::{Deferred, Immediate};
use toolhost_files::PrivateDir;

use super::database::{self, Database, FILE_NAME};
use super::error::StoreError;
use super::lease::{FileLease, Lease, LocalLease};
use super::open;
use super::schema::Schema;
use super::sql::{self, Transaction};
use super::sqlite::{self, SqliteStore};
use super::sqlite_work::SqliteWork;

/// The database of a state root: a file of SQLite, or a schema in PostgreSQL. One transaction writes at a time, in all
/// processes and on all machines that share it. Cheap to clone.
///
/// A committed write survives a process that is killed at any moment. A machine that loses power may
/// lose the last writes to a file of SQLite, never the database's consistency.
#[derive(Clone)]
pub struct Store(Inner);

#[derive(Clone)]
enum Inner {
    Sqlite(SqliteStore, Arc<dyn Lease>),
    #[cfg(feature = "postgres")]
    Postgres(Arc<crate::postgres::Session>),
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Store");
        match &self.0 {
            Inner::Sqlite(store, _) => shown.field("path", &store.path()),
            #[cfg(feature = "postgres")]
            Inner::Postgres(session) => shown.field("database", &session.name()),
        };
        shown
            .field("run_id", &self.run_id())
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens a database, and brings the tables of `schema` up to date; makes what is missing. Several processes may share it.
    /// Blocks, for some seconds at most if another process locks the database.
    ///
    /// A file of SQLite is `{state_root}/toolhost.db`, with a [`FileLease`], both readable for this user alone. The state
    /// root must be this user's, and nobody else may be able to write it. In it no link is followed, and only regular files
    /// are opened.
    ///
    /// # Errors
    /// [`StoreError`] where a file or a lock cannot be made or is not this user's, the database is damaged, locked or of a
    /// newer version, or PostgreSQL cannot be reached.
    pub fn open(database: impl Into<Database>, schema: &Schema) -> Result<Self, StoreError> {
        match database.into() {
            Database::Sqlite(state_root) => {
                database::check_is_here(&state_root)?;
                Self::open_local(&state_root, schema)
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(postgres) => {
                let session = postgres.session()?;
                session.migrate(schema)?;
                Ok(Self(Inner::Postgres(session)))
            }
        }
    }

    /// Opens the file of SQLite of a state root, also of one whose database is elsewhere: for rows that name files in it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_local(state_root: &Path, schema: &Schema) -> Result<Self, StoreError> {
        PrivateDir::make(state_root).map_err(|source| StoreError::Make {
            path: state_root.to_owned(),
            source,
        })?;
        let state_root = SqliteStore::root(state_root)?;
        let path = state_root.join(FILE_NAME);
        let connection = open::file(&path, schema)?;
        let lease: Arc<dyn Lease> = Arc::new(FileLease::acquire(&state_root)?);
        let store = SqliteStore::start(path, connection, Arc::clone(&lease))?;
        Ok(Self(Inner::Sqlite(store, lease)))
    }

    /// Makes a store that lives as long as its clones.
    ///
    /// # Errors
    /// [`StoreError`] where the system gives no memory, thread or random bytes.
    pub fn in_memory(schema: &Schema) -> Result<Self, StoreError> {
        let lease: Arc<dyn Lease> = Arc::new(LocalLease::new()?);
        let store = SqliteStore::in_memory(schema, Arc::clone(&lease))?;
        Ok(Self(Inner::Sqlite(store, lease)))
    }

    /// Reads from a database on this thread, and brings the tables of `schema` up to date. None where there is no file of
    /// SQLite.
    ///
    /// # Errors
    /// Those of [`open`](Self::open) and of `work`.
    pub fn read_from<T: Send + 'static>(
        database: &Database,
        schema: &Schema,
        work: impl Fn(&Transaction<'_>) -> sql::Result<T> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        match database {
            Database::Sqlite(state_root) => {
                database::check_is_here(state_root)?;
                Self::read_local(state_root, schema, work)
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(postgres) => {
                let session = postgres.session()?;
                session.migrate(schema)?;
                session.blocking_read(work).map(Some)
            }
        }
    }

    /// Reads from the file of SQLite of a state root, also of one whose database is elsewhere, on this thread, and brings the
    /// tables of `schema` up to date. None where there is no file.
    ///
    /// # Errors
    /// As [`Self::read_from`].
    pub fn read_local<T>(
        state_root: &Path,
        schema: &Schema,
        work: impl Fn(&Transaction<'_>) -> sql::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let path = state_root.join(FILE_NAME);
        let real = match path.canonicalize() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            real => real.map_err(|source| StoreError::Make { path, source })?,
        };
        let mut connection = open::file(&real, schema)?;
        let lease = LocalLease::new()?;
        let work = |tx: &rusqlite::Transaction<'_>| {
            work(&Transaction::new(&SqliteWork { tx, lease: &lease }))
        };
        sqlite::run(&mut connection, &real, Deferred, work).map(Some)
    }

    /// Runs `work` on the store's thread in a transaction that may write; commits if it returns `Ok`,
    /// and rolls back otherwise. Waits while the store's queue is full.
    ///
    /// `work` blocks every other user of the store, so it should only use the database. It may run again, if the connection
    /// to PostgreSQL breaks before it is committed. If this future is dropped while the job is queued, `work` is not run;
    /// work that has begun is completed.
    ///
    /// # Errors
    /// [`StoreError`] where the database or `work` fails, or `work` panics; after 30 s where PostgreSQL cannot be reached.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&Transaction<'_>) -> sql::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.0 {
            Inner::Sqlite(store, lease) => {
                let lease = Arc::clone(lease);
                let work = move |tx: &rusqlite::Transaction<'_>| {
                    work(&Transaction::new(&SqliteWork { tx, lease: &*lease }))
                };
                store.transact(Immediate, work).await
            }
            #[cfg(feature = "postgres")]
            Inner::Postgres(session) => session.write(work).await,
        }
    }

    /// Runs `work` on the store's thread in a transaction that reads one consistent snapshot. Dropped,
    /// queued or run again as [`write`](Self::write) is.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&Transaction<'_>) -> sql::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.0 {
            Inner::Sqlite(store, lease) => {
                let lease = Arc::clone(lease);
                let work = move |tx: &rusqlite::Transaction<'_>| {
                    work(&Transaction::new(&SqliteWork { tx, lease: &*lease }))
                };
                store.transact(Deferred, work).await
            }
            #[cfg(feature = "postgres")]
            Inner::Postgres(session) => session.read(work).await,
        }
    }

    /// Returns the id of this run of the store. In PostgreSQL a process whose run was declared dead, as it was stopped for
    /// too long, goes on as another run: within a transaction, [`Transaction::run_id`] is the one that counts.
    pub fn run_id(&self) -> Arc<str> {
        match &self.0 {
            Inner::Sqlite(_, lease) => lease.run_id().into(),
            #[cfg(feature = "postgres")]
            Inner::Postgres(session) => session.run_id(),
        }
    }

    /// Whether the run of this id is alive: see [`Transaction::is_alive`].
    #[cfg(test)]
    pub(super) fn is_alive(&self, run_id: &str) -> bool {
        match &self.0 {
            Inner::Sqlite(_, lease) => lease.is_alive(run_id),
            #[cfg(feature = "postgres")]
            Inner::Postgres(_) => panic!("a transaction knows"),
        }
    }

    /// How many more jobs the queue takes.
    #[cfg(test)]
    pub(super) fn queue_capacity(&self) -> usize {
        match &self.0 {
            Inner::Sqlite(store, _) => store.queue_capacity(),
            #[cfg(feature = "postgres")]
            Inner::Postgres(_) => 0,
        }
    }
}

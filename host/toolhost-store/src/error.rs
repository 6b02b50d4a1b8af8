//! Why the store cannot be opened or used.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ErrorCode;

use super::sql;

/// How long an operation waits for the lock of another process, whose transactions take milliseconds.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the statements of a transaction may take together.
pub(crate) const WORK_TIME: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 30 });

/// Why the store cannot be opened, or an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The state root or the database's file cannot be created, or is not this user's: see
    /// [`NotPrivate`](toolhost_files::NotPrivate).
    #[error("{} cannot be used", .path.display())]
    Make {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The lock that marks this run of the store as alive cannot be taken.
    #[error("the lock of this process in {} cannot be taken", .dir.display())]
    Lease {
        /// The directory of the locks.
        dir: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The system gave no random bytes.
    #[error("the system gave no random bytes")]
    Random(#[from] getrandom::Error),
    /// The store's thread cannot start.
    #[error("the store's thread cannot start")]
    Thread(#[source] std::io::Error),
    /// A later toolhost wrote the database. It is left unchanged.
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
    /// The file is damaged, or not an SQLite database. It is left unchanged.
    #[error(
        "the database {} is damaged or not an SQLite database: restore a copy of the state root, or move \
         the database and its -wal and -shm files away, which loses the pending calls and events in it",
        .path.display()
    )]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// The error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
    /// The log that belongs to the database is damaged, so that SQLite would lose writes in it without an
    /// error. Both files are left unchanged.
    #[error(
        "the log {} of the database is damaged ({fault}): restore a copy of the state root, or move the \
         log away, which loses the pending calls and events that were stored last",
        .path.display()
    )]
    DamagedLog {
        /// The log.
        path: PathBuf,
        /// What is wrong with it.
        fault: String,
    },
    /// Another process held the lock of the database for longer than the store waits.
    #[error(
        "the database {} was locked by another process for {} s: try again, or end that process",
        .path.display(),
        BUSY_TIMEOUT.as_secs()
    )]
    Busy {
        /// The database.
        path: PathBuf,
        /// The error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
    /// A statement did not end in time. Those of this program take milliseconds: a trigger or a view that
    /// another program put into the database may never end.
    #[error(
        "work on the database {} took longer than {} s and was stopped: restore a copy of the state root, \
         or use another one",
        .path.display(),
        WORK_TIME.as_secs()
    )]
    TooSlow {
        /// The database.
        path: PathBuf,
        /// The error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
    /// The database failed otherwise: the disk is full, a file is read-only, a row has an unexpected value.
    #[error("the database {} cannot be read or written", .path.display())]
    Failed {
        /// The database.
        path: PathBuf,
        /// The cause.
        #[source]
        source: sql::Error,
    },
    /// The database in PostgreSQL cannot be reached, or does not let this process in.
    #[error(
        "the PostgreSQL database {database} cannot be used: look whether it runs, and at `state.postgres` of the policy"
    )]
    Unreachable {
        /// Its address, without a password.
        database: String,
        /// The cause.
        #[source]
        source: sql::Error,
    },
    /// The state of this state root is in PostgreSQL, and not in a file.
    #[error(
        "the state of {} is in {database}: use a policy with this `state.postgres`, or remove {} to begin anew in a file",
        .marker.parent().unwrap_or(.marker).display(), .marker.display()
    )]
    Elsewhere {
        /// The file that says so.
        marker: PathBuf,
        /// The database.
        database: String,
    },
    /// The state of this state root is in another database than the one that was named.
    #[error(
        "the state of {} is in {database}, and not in {named}: correct `state.postgres` of the policy, use another \
         state root, or remove {} to begin anew in {named}",
        .marker.parent().unwrap_or(.marker).display(), .marker.display()
    )]
    OtherDatabase {
        /// The file that says where it is.
        marker: PathBuf,
        /// The database.
        database: String,
        /// The database that was named.
        named: String,
    },
    /// The settings of PostgreSQL are wrong.
    #[error("the settings of PostgreSQL cannot be used: {0}")]
    Settings(String),
    /// The work panicked, and its transaction was rolled back.
    #[error("work on the database {} panicked", .path.display())]
    Panicked {
        /// The database.
        path: PathBuf,
    },
    /// The store's thread has ended.
    #[error("the thread of the database {} has ended", .path.display())]
    Stopped {
        /// The database.
        path: PathBuf,
    },
}

impl StoreError {
    /// Whether a row has a value that the reader does not know. Reading it again fails again.
    pub fn is_unreadable_row(&self) -> bool {
        let Self::Failed { source, .. } = self else {
            return false;
        };
        match source {
            sql::Error::Unreadable { .. } => true,
            sql::Error::Sqlite(source) => matches!(
                source,
                rusqlite::Error::FromSqlConversionFailure(..)
                    | rusqlite::Error::InvalidColumnType(..)
            ),
            #[cfg(feature = "postgres")]
            sql::Error::Postgres(_) => false,
            sql::Error::NoRow | sql::Error::Unstorable(_) | sql::Error::Unavailable(_) => false,
        }
    }

    /// Returns the error and its causes on one line.
    pub fn with_causes(&self) -> String {
        let first: &dyn std::error::Error = self;
        let causes = std::iter::successors(Some(first), |error| error.source());
        let mut text = String::new();
        for cause in causes.map(ToString::to_string) {
            if text.is_empty() {
                text = cause;
            } else if !text.ends_with(&cause) {
                text = format!("{text}: {cause}");
            }
        }
        text
    }

    pub(crate) fn sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let code = source.sqlite_error_code();
        let is = |one: ErrorCode, other: ErrorCode| code == Some(one) || code == Some(other);
        let path = path.to_owned();
        if is(ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked) {
            Self::Busy { path, source }
        } else if is(ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase) {
            Self::Corrupt { path, source }
        } else if code == Some(ErrorCode::OperationInterrupted) {
            Self::TooSlow { path, source }
        } else {
            Self::Failed {
                path,
                source: source.into(),
            }
        }
    }

    /// Makes the error of work on a database.
    pub(crate) fn of(path: &Path, error: sql::Error) -> Self {
        let sql::Error::Sqlite(source) = error else {
            let path = path.to_owned();
            return Self::Failed {
                path,
                source: error,
            };
        };
        Self::sqlite(path, source)
    }
}

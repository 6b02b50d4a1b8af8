//! Why the store cannot be opened or used.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ErrorCode;

/// How long an operation waits for the lock of another process, whose transactions take milliseconds.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Why the store cannot be opened, or an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The state root or the database's file cannot be created.
    #[error("{} cannot be created", .path.display())]
    Make {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The lock that marks this run of the store as alive cannot be taken.
    #[error("the run's lock in {} cannot be taken", .dir.display())]
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
    /// The file is damaged, or not an SQLite database.
    #[error("the database {} is damaged or not an SQLite database", .path.display())]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// The error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
    /// Another process held the lock of the database for longer than the store waits.
    #[error(
        "the database {} was locked by another process for {} s",
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
    /// SQLite failed otherwise: the disk is full, a file is read-only, a row has an unexpected value.
    #[error("the database {} failed", .path.display())]
    Failed {
        /// The database.
        path: PathBuf,
        /// The cause.
        #[source]
        source: rusqlite::Error,
    },
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
    #[must_use]
    pub fn is_unreadable_row(&self) -> bool {
        let Self::Failed { source, .. } = self else {
            return false;
        };
        matches!(
            source,
            rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..)
        )
    }

    pub(crate) fn sqlite(path: &Path, source: rusqlite::Error) -> Self {
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

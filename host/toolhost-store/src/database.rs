//! Which database a state root has.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::marker::{self, MARKER};
#[cfg(feature = "postgres")]
use crate::postgres::Postgres;

/// Which database a state root has. A path stands for SQLite in that directory.
#[derive(Debug, Clone)]
pub enum Database {
    /// SQLite: the file `toolhost.db` in this directory, the state root.
    Sqlite(PathBuf),
    /// PostgreSQL, which several machines may share.
    #[cfg(feature = "postgres")]
    Postgres(Postgres),
}

/// Name of the file of SQLite in a state root.
pub(crate) const FILE_NAME: &str = "toolhost.db";

/// Refuses the file of a state root whose database is elsewhere.
pub(crate) fn check_is_here(state_root: &Path) -> Result<(), StoreError> {
    let marker = state_root.join(MARKER);
    match Database::elsewhere(state_root) {
        Ok(None) => Ok(()),
        Ok(Some(database)) => Err(StoreError::Elsewhere { marker, database }),
        Err(source) => Err(StoreError::Make {
            path: marker,
            source,
        }),
    }
}

impl Database {
    /// Notes in a state root that its database is elsewhere, once that was reached, so that whoever names none does not make
    /// another one there. Everything does so that uses a database together with a state root.
    ///
    /// # Errors
    /// [`StoreError::OtherDatabase`] if the state root has another one; [`StoreError::Make`].
    pub fn mark(&self, state_root: &Path) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(_) => {
                let _ = state_root;
                Ok(())
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(postgres) => postgres.mark(state_root),
        }
    }

    /// Returns the address of the database of a state root, without a password, if it is not a file in it.
    ///
    /// # Errors
    /// Where the note of it cannot be read.
    pub fn elsewhere(state_root: &Path) -> io::Result<Option<String>> {
        marker::elsewhere(state_root)
    }

    /// Whether several machines may use it.
    pub fn is_shared(&self) -> bool {
        match self {
            Self::Sqlite(_) => false,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => true,
        }
    }

    /// Whether there may be rows: a state root without a file has none.
    pub fn may_exist(&self) -> bool {
        match self {
            Self::Sqlite(state_root) => {
                let is_there = |name| state_root.join(name).exists();
                is_there(FILE_NAME) || is_there(MARKER)
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => true,
        }
    }
}

impl From<&Path> for Database {
    fn from(state_root: &Path) -> Self {
        Self::Sqlite(state_root.to_owned())
    }
}

impl From<&PathBuf> for Database {
    fn from(state_root: &PathBuf) -> Self {
        Self::Sqlite(state_root.clone())
    }
}

impl From<PathBuf> for Database {
    fn from(state_root: PathBuf) -> Self {
        Self::Sqlite(state_root)
    }
}

impl From<&Self> for Database {
    fn from(database: &Self) -> Self {
        database.clone()
    }
}

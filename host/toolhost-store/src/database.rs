//! Which database a state root has.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use toolhost_files::{PrivateDir, PrivateFile};

use crate::error::StoreError;
use crate::random::random_text;

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

/// Name of the file in a state root whose database is elsewhere.
const MARKER: &str = "database";

/// Bytes that are read of it.
const MARKER_BYTES: u64 = 1_000;

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
    /// Notes in a state root that its database is elsewhere, so that whoever names none does not make another one there.
    ///
    /// # Errors
    /// [`StoreError::Make`].
    pub fn mark(&self, state_root: &Path) -> Result<(), StoreError> {
        let name: Option<String> = match self {
            Self::Sqlite(_) => None,
            #[cfg(feature = "postgres")]
            Self::Postgres(postgres) => Some(postgres.to_string()),
        };
        let Some(name) = name else {
            return Ok(());
        };
        let made = PrivateDir::make(state_root).and_then(|_| write_marker(state_root, &name));
        made.map_err(|source| StoreError::Make {
            path: state_root.join(MARKER),
            source,
        })
    }

    /// Returns the address of the database of a state root, without a password, if it is not a file in it.
    ///
    /// # Errors
    /// Where the note of it cannot be read.
    pub fn elsewhere(state_root: &Path) -> io::Result<Option<String>> {
        let mut file = match PrivateFile::open_own(&state_root.join(MARKER), OFlags::RDONLY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?.take(MARKER_BYTES),
        };
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let database = text.lines().next().unwrap_or_default().chars();
        Ok(Some(database.filter(|c| !c.is_control()).collect()))
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

fn write_marker(state_root: &Path, name: &str) -> io::Result<()> {
    if Database::elsewhere(state_root)?.as_deref() == Some(name) {
        return Ok(());
    }
    let random = random_text::<16>().map_err(|_| io::ErrorKind::Other)?;
    let fresh = state_root.join(format!("{MARKER}.{random}.new"));
    PrivateFile::make_new(&fresh)?.write_all(name.as_bytes())?;
    fs::rename(&fresh, state_root.join(MARKER))
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

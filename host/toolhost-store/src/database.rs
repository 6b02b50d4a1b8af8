//! Which database a state root has.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
#[cfg(feature = "postgres")]
use std::{fs, io::Write};

use rustix::fs::OFlags;
#[cfg(feature = "postgres")]
use toolhost_files::PrivateDir;
use toolhost_files::PrivateFile;

use crate::error::StoreError;
#[cfg(feature = "postgres")]
use crate::{postgres::Postgres, random::random_text};

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
const MARKER_BYTES: u64 = 4_000;

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
        let mut file = match PrivateFile::open_own(&state_root.join(MARKER), OFlags::RDONLY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?.take(MARKER_BYTES),
        };
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(Some(line(&text)))
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

/// Returns the first line of a text.
fn line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().chars();
    line.filter(|c| !c.is_control()).collect()
}

/// Refuses a state root whose database is another one than this. Returns whether it says so already.
#[cfg(feature = "postgres")]
pub(crate) fn check_marker(state_root: &Path, name: &str) -> Result<bool, StoreError> {
    let marker = state_root.join(MARKER);
    match Database::elsewhere(state_root) {
        Ok(None) => Ok(false),
        Ok(Some(database)) if database == line(name) => Ok(true),
        Ok(Some(database)) => Err(StoreError::OtherDatabase {
            marker,
            database,
            named: line(name),
        }),
        Err(source) => Err(StoreError::Make {
            path: marker,
            source,
        }),
    }
}

/// Notes in a state root where its database is.
#[cfg(feature = "postgres")]
pub(crate) fn write_marker(state_root: &Path, name: &str) -> Result<(), StoreError> {
    if check_marker(state_root, name)? {
        return Ok(());
    }
    let made = PrivateDir::make(state_root).and_then(|_| {
        let random = random_text::<16>().map_err(|_| io::ErrorKind::Other)?;
        let fresh = state_root.join(format!("{MARKER}.{random}.new"));
        PrivateFile::make_new(&fresh)?.write_all(line(name).as_bytes())?;
        let linked = fs::hard_link(&fresh, state_root.join(MARKER));
        fs::remove_file(&fresh)?;
        linked
    });
    match made {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            check_marker(state_root, name).map(drop)
        }
        made => made.map_err(|source| StoreError::Make {
            path: state_root.join(MARKER),
            source,
        }),
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

//! Opening a database: made for this user alone, refused where it is newer, brought up to date.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::StoreError;
use super::random::random_text;
use super::schema::MIGRATIONS;

/// How long a lock of another process is waited for: its transactions take milliseconds.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Pause between two attempts to open a database that other processes open at the same time.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// Opens the database of a file.
pub(super) fn file(path: &Path) -> Result<Connection, StoreError> {
    make_file(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sqlite = |source| StoreError::sqlite(path, source);
    let mut connection = Connection::open_with_flags(path, flags).map_err(sqlite)?;
    let give_up = Instant::now() + BUSY_TIMEOUT;
    loop {
        match prepare(&mut connection, path) {
            // SQLite does not wait where two connections want to be the first to change the journal.
            Err(StoreError::Busy { .. }) if Instant::now() < give_up => {
                std::thread::sleep(BUSY_PAUSE);
            }
            Ok(()) => return Ok(connection),
            Err(error) => return Err(error),
        }
    }
}

/// Opens a database in memory.
pub(super) fn memory(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = Connection::open_in_memory().map_err(|e| StoreError::sqlite(path, e))?;
    prepare(&mut connection, path)?;
    Ok(connection)
}

/// Makes the file where it is missing, readable for this user alone. SQLite gives its other files the
/// same mode.
///
/// The file is made under another name: closing a handle on the database itself would take away the
/// locks that another store of this process holds on it.
fn make_file(path: &Path) -> Result<(), StoreError> {
    let made = |source| StoreError::Make {
        path: path.to_owned(),
        source,
    };
    if !path.exists() {
        let fresh = path.with_extension(format!("{}.new", random_text::<16>()?));
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&fresh)
            .map_err(made)?;
        let linked = fs::hard_link(&fresh, path);
        fs::remove_file(&fresh).map_err(made)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(made(error)),
            Ok(()) | Err(_) => {}
        }
    }
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(made)
}

/// Sets a connection up; looks at the version before anything is written.
fn prepare(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let sqlite = |source| StoreError::sqlite(path, source);
    connection.busy_timeout(BUSY_TIMEOUT).map_err(sqlite)?;
    known_version(connection, path)?;
    // Of a database that is new; later it has no effect.
    connection
        .pragma_update(None, "auto_vacuum", "INCREMENTAL")
        .and_then(|()| connection.pragma_update(None, "journal_mode", "WAL"))
        .and_then(|()| connection.pragma_update(None, "synchronous", "NORMAL"))
        .and_then(|()| connection.pragma_update(None, "foreign_keys", "ON"))
        .map_err(sqlite)?;

    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(sqlite)?;
    // Another process may have been faster.
    let version = known_version(&transaction, path)?;
    let steps = MIGRATIONS.get(version..).unwrap_or_default();
    if !steps.is_empty() {
        for step in steps {
            transaction.execute_batch(step).map_err(sqlite)?;
        }
        transaction
            .pragma_update(None, "user_version", latest())
            .map_err(sqlite)?;
    }
    transaction.commit().map_err(sqlite)
}

/// Reads how many steps of the schema a database has been through.
fn known_version(connection: &Connection, path: &Path) -> Result<usize, StoreError> {
    let found: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(|source| StoreError::sqlite(path, source))?;
    match usize::try_from(found) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(version),
        Ok(_) | Err(_) => Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known: latest(),
        }),
    }
}

/// The version that this toolhost makes.
fn latest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

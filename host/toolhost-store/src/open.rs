//! Opening a database: created for this user alone, refused if it is newer, brought up to date.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::error::{BUSY_TIMEOUT, StoreError};
use super::random::random_text;
use super::schema::{FORMAT, Schema, Version};

/// Pause between two attempts to open a database that other processes open at the same time.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

pub(super) fn file(path: &Path, schema: &Schema) -> Result<Connection, StoreError> {
    make_file(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sqlite = |source| StoreError::sqlite(path, source);
    let mut connection = Connection::open_with_flags(path, flags).map_err(sqlite)?;
    let give_up = Instant::now() + BUSY_TIMEOUT;
    loop {
        match prepare(&mut connection, path, schema) {
            // SQLite fails at once, without waiting, where two connections change the journal mode.
            Err(StoreError::Busy { .. }) if Instant::now() < give_up => {
                std::thread::sleep(BUSY_PAUSE);
            }
            Ok(()) => return Ok(connection),
            Err(error) => return Err(error),
        }
    }
}

pub(super) fn memory(path: &Path, schema: &Schema) -> Result<Connection, StoreError> {
    let mut connection = Connection::open_in_memory().map_err(|e| StoreError::sqlite(path, e))?;
    prepare(&mut connection, path, schema)?;
    Ok(connection)
}

/// Creates a missing file, readable for this user alone. SQLite gives its other files the same mode.
///
/// The file is created under another name and linked: closing a handle on the database itself would
/// release the locks that another store of this process holds on it.
fn make_file(path: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Make {
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
            .map_err(failed)?;
        let linked = fs::hard_link(&fresh, path);
        fs::remove_file(&fresh).map_err(failed)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)
}

/// Sets a connection up; reads the version before anything is written.
fn prepare(connection: &mut Connection, path: &Path, schema: &Schema) -> Result<(), StoreError> {
    let sqlite = |source| StoreError::sqlite(path, source);
    connection.busy_timeout(BUSY_TIMEOUT).map_err(sqlite)?;
    known_version(connection, path, schema)?;
    // `auto_vacuum` has an effect in a new database only.
    connection
        .pragma_update(None, "auto_vacuum", "INCREMENTAL")
        .and_then(|()| connection.pragma_update(None, "journal_mode", "WAL"))
        .and_then(|()| connection.pragma_update(None, "synchronous", "NORMAL"))
        .and_then(|()| connection.pragma_update(None, "foreign_keys", "ON"))
        .map_err(sqlite)?;

    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(sqlite)?;
    // Another process may have migrated the database in between.
    let version = known_version(&transaction, path, schema)?;
    schema.migrate(&transaction, version).map_err(sqlite)?;
    transaction.commit().map_err(sqlite)
}

/// Reads the version of a database; refuses one that a later toolhost wrote.
fn known_version(
    connection: &Connection,
    path: &Path,
    schema: &Schema,
) -> Result<Version, StoreError> {
    let version = schema.version(connection);
    let version = version.map_err(|source| StoreError::sqlite(path, source))?;
    for (found, known) in [(version.format, FORMAT), (version.steps, schema.latest())] {
        if !(0..=known).contains(&found) {
            let path = path.to_owned();
            return Err(StoreError::Newer { path, found, known });
        }
    }
    Ok(version)
}

//! Opening a database: created for this user alone, refused if it is newer or damaged, brought up to date.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, TransactionBehavior, ffi};
use rustix::fs::OFlags;
use toolhost_files::PrivateFile;

use super::error::{BUSY_TIMEOUT, StoreError, WORK_TIME};
use super::random::random_text;
use super::schema::{FORMAT, Schema, Version};
use super::wal::{self, Fault};

/// Pause between two attempts to open a database that other processes open at the same time.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// Files that SQLite makes beside a database, as what follows its name.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Largest database that is checked as a whole when it is opened, in bytes: the check takes time in
/// proportion. In a larger one damage is found when it is read.
const CHECKED_BYTES: i64 = 4 << 20;

/// Largest damaged log that is copied, in bytes.
const COPIED_BYTES: u64 = 64 << 20;

/// Most bytes of memory that SQLite takes, in all connections of the process: a row of a foreign database
/// may be large.
const HEAP_BYTES: i64 = 1 << 30;

/// Steps of SQLite's machine between two looks at the clock: some 0.1 ms.
const STEPS: std::ffi::c_int = 10_000;

/// Opens the database at a path without links.
pub(super) fn file(path: &Path, schema: &Schema) -> Result<Connection, StoreError> {
    check_files(path)?;
    make_file(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
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

/// Refuses files of a database that are not this user's, and a damaged log.
pub(super) fn check_files(path: &Path) -> Result<(), StoreError> {
    own_files(path).map_err(|source| StoreError::Make {
        path: path.to_owned(),
        source,
    })?;
    check_log(path)
}

/// Checks that the files of a database are regular files of this user's, where they exist.
fn own_files(path: &Path) -> io::Result<()> {
    PrivateFile::stat_own(path)?;
    for end in BESIDE {
        let mut beside = path.to_owned().into_os_string();
        beside.push(end);
        PrivateFile::stat_own(Path::new(&beside))?;
    }
    Ok(())
}

/// Refuses a database whose log is damaged. Logs a write that was cut off, and keeps a copy of the log.
fn check_log(path: &Path) -> Result<(), StoreError> {
    let log = wal::path_of(path);
    let found = wal::fault_of(path).map_err(|source| StoreError::Make {
        path: log.clone(),
        source,
    })?;
    match found {
        None => Ok(()),
        Some(fault @ (Fault::Header | Fault::Frame { .. } | Fault::NoDatabase)) => {
            Err(StoreError::DamagedLog {
                path: log,
                fault: fault.to_string(),
            })
        }
        Some(fault @ Fault::LastFrame { .. }) => {
            let copy = log.with_extension("db-wal.damaged");
            let copied = keep_copy(&log, &copy);
            let copied =
                copied.map_or_else(|error| error.to_string(), |()| copy.display().to_string());
            tracing::error!(
                log = %log.display(), %fault, %copied,
                "the last write to the database was cut off or is damaged, and is lost; its log was copied"
            );
            Ok(())
        }
    }
}

/// Copies a file, in the place of an earlier copy.
fn keep_copy(file: &Path, copy: &Path) -> io::Result<()> {
    let mut from = PrivateFile::open_own(file, OFlags::RDONLY)?;
    if from.metadata()?.len() > COPIED_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    match fs::remove_file(copy) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut to = PrivateFile::make_new(copy)?;
    io::copy(&mut from, &mut to).map(drop)
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
    if PrivateFile::stat_own(path).map_err(failed)?.is_none() {
        let fresh = path.with_extension(format!("{}.new", random_text::<16>()?));
        PrivateFile::make_new(&fresh).map_err(failed)?;
        let linked = fs::hard_link(&fresh, path);
        fs::remove_file(&fresh).map_err(failed)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    match PrivateFile::stat_own(path).map_err(failed)? {
        Some(stat) if stat.st_mode & 0o077 != 0 => {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)
        }
        Some(_) | None => Ok(()),
    }
}

/// Stops the statements of a connection [`WORK_TIME`] from now.
pub(super) fn limit_time(connection: &mut Connection) -> rusqlite::Result<()> {
    let end = Instant::now() + WORK_TIME;
    connection.progress_handler(STEPS, Some(move || Instant::now() > end))
}

/// Sets a connection up; reads the version before anything is written.
fn prepare(connection: &mut Connection, path: &Path, schema: &Schema) -> Result<(), StoreError> {
    let sqlite = |source| StoreError::sqlite(path, source);
    connection.busy_timeout(BUSY_TIMEOUT).map_err(sqlite)?;
    limit_time(connection).map_err(sqlite)?;
    connection
        .pragma_update(None, "hard_heap_limit", HEAP_BYTES)
        .and_then(|()| connection.pragma_update(None, "trusted_schema", "OFF"))
        .map_err(sqlite)?;
    known_version(connection, path, schema)?;
    check_pages(connection, path)?;
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

/// Checks all pages, and that each index has the rows of its table: SQLite reads a damaged index without
/// an error, and finds nothing in it.
fn check_pages(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let sqlite = |source| StoreError::sqlite(path, source);
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = number("page_count").map_err(sqlite)?;
    if pages.saturating_mul(number("page_size").map_err(sqlite)?) > CHECKED_BYTES {
        return Ok(());
    }
    let checked = connection.query_row("PRAGMA integrity_check(1)", (), |row| row.get(0));
    let verdict: String = checked.map_err(sqlite)?;
    if verdict == "ok" {
        return Ok(());
    }
    let damaged = ffi::Error::new(ffi::SQLITE_CORRUPT);
    // The line before the last names the database.
    let verdict = verdict.lines().next_back().map(str::to_owned);
    Err(sqlite(rusqlite::Error::SqliteFailure(damaged, verdict)))
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

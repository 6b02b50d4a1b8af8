//! A copy of a database that processes use.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags, ffi};
use toolhost_files::PrivateFile;

use super::error::{BUSY_TIMEOUT, StoreError};
use super::open;

/// Pause between two attempts while another process writes.
const PAUSE: Duration = Duration::from_millis(5);

/// Copies a database as it is at one moment into a new file, which only this user can read. Processes may read and write
/// it meanwhile. Blocks.
///
/// # Errors
/// [`StoreError`] where the database is damaged or not this user's, or `to` exists.
pub fn copy_database(from: &Path, to: &Path) -> Result<(), StoreError> {
    open::check_files(from)?;
    let made = PrivateFile::make_new(to);
    made.map_err(|source| StoreError::Make {
        path: to.to_owned(),
        source,
    })?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let of = |path| move |source| StoreError::sqlite(path, source);
    let source = Connection::open_with_flags(from, flags).map_err(of(from))?;
    source.busy_timeout(BUSY_TIMEOUT).map_err(of(from))?;
    let mut copy = Connection::open_with_flags(to, flags).map_err(of(to))?;
    copy_pages(&source, &mut copy).map_err(of(from))?;
    // A log beside the copy would have to be kept with it.
    let journal = copy.pragma_update(None, "journal_mode", "DELETE");
    journal.map_err(of(to))?;
    let checked = copy.query_row("PRAGMA quick_check(1)", (), |row| row.get(0));
    let verdict: String = checked.map_err(of(to))?;
    if verdict == "ok" {
        return Ok(());
    }
    let damaged = ffi::Error::new(ffi::SQLITE_CORRUPT);
    let damaged = rusqlite::Error::SqliteFailure(damaged, Some(verdict));
    Err(StoreError::sqlite(from, damaged))
}

/// Copies all pages in one step, so that they are those of one moment.
fn copy_pages(from: &Connection, to: &mut Connection) -> rusqlite::Result<()> {
    let backup = Backup::new(from, to)?;
    let give_up = Instant::now() + BUSY_TIMEOUT;
    loop {
        match backup.step(-1)? {
            StepResult::Done => return Ok(()),
            StepResult::Busy | StepResult::Locked if Instant::now() > give_up => {
                let busy = ffi::Error::new(ffi::SQLITE_BUSY);
                return Err(rusqlite::Error::SqliteFailure(busy, None));
            }
            // The enum may get others.
            StepResult::More | StepResult::Busy | StepResult::Locked | _ => {
                std::thread::sleep(PAUSE);
            }
        }
    }
}

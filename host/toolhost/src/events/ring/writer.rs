//! Writes the ring, and removes what is too old or too much.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use toolhost_contract::Redactor;
use toolhost_manifest::policy::CallsRule;
use toolhost_runtime::lock;
use toolhost_store::rusqlite::{self, Transaction};
use toolhost_store::{SqliteStore, StoreError};

use super::super::worker::Batch;
use super::database::{FILE_NAME, SCHEMA};
use super::entry::Entry;
use super::row::{NewRow, millis};

/// Calls written in one transaction. Small, because other processes wait for the lock.
const ROWS: usize = 512;

/// How often old calls are looked for.
const AGE_INTERVAL: Duration = Duration::from_secs(60);

/// How long after a failure the database is opened again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// What part of the calls is removed at once where the database is too large.
const PART: i64 = 16;

/// Pages given back to the system in one transaction.
const VACUUM_PAGES: u32 = 10_000;

pub(super) struct Writer {
    root: PathBuf,
    redactor: Redactor,
    rule: Arc<Mutex<CallsRule>>,
    store: Option<SqliteStore>,
    /// When the database is opened again, after a failure.
    retry_at: Option<Instant>,
    /// Calls that were not written, which is not written either.
    lost: u64,
    /// When old calls were looked for.
    aged_at: Option<Instant>,
}

impl Writer {
    pub(super) fn new(root: &Path, redactor: &Redactor, rule: &Arc<Mutex<CallsRule>>) -> Self {
        Self {
            root: root.to_owned(),
            redactor: redactor.clone(),
            rule: Arc::clone(rule),
            store: None,
            retry_at: None,
            lost: 0,
            aged_at: None,
        }
    }

    pub(super) fn write(&mut self, batch: Batch<Entry, u64>) {
        self.lost += batch.lost;
        let mut entries = batch.items.into_iter().peekable();
        loop {
            let rows: Vec<NewRow> = entries
                .by_ref()
                .take(ROWS)
                .map(|entry| NewRow::new(entry, &self.redactor))
                .collect();
            let count = rows.len() as u64;
            if let Err(error) = self.write_rows(rows) {
                self.lost += count;
                let causes = error.with_causes();
                tracing::warn!(target: "toolhost::events", %causes, "calls cannot be written; they are lost");
                self.store = None;
                self.retry_at = Instant::now().checked_add(RETRY_AFTER);
            }
            if entries.peek().is_none() {
                return;
            }
        }
    }

    fn write_rows(&mut self, rows: Vec<NewRow>) -> Result<(), StoreError> {
        let store = match &self.store {
            Some(store) => store.clone(),
            None if self.retry_at.is_some_and(|at| Instant::now() < at) => {
                self.lost += rows.len() as u64;
                return Ok(());
            }
            None => {
                let opened = SqliteStore::open(&self.root, FILE_NAME, &SCHEMA)?;
                self.store.insert(opened).clone()
            }
        };
        let (rule, lost) = (*lock(&self.rule), self.lost);
        let is_due = self.aged_at.is_none_or(|at| at.elapsed() >= AGE_INTERVAL);
        store.blocking_write(move |tx| {
            for row in &rows {
                row.insert(tx)?;
            }
            let now = SystemTime::now();
            if lost > 0 {
                let insert = "INSERT INTO losses (time, count) VALUES (?1, ?2)";
                tx.execute(
                    insert,
                    (millis(now), i64::try_from(lost).unwrap_or(i64::MAX)),
                )?;
            }
            if is_due {
                remove_old(tx, now.checked_sub(rule.age))?;
            }
            remove_beyond(tx, rule.bytes)
        })?;
        self.lost = 0;
        if is_due {
            self.aged_at = Some(Instant::now());
        }
        Ok(())
    }
}

/// Removes the calls that ended before `limit`.
fn remove_old(tx: &Transaction<'_>, limit: Option<SystemTime>) -> rusqlite::Result<()> {
    let Some(limit) = limit.map(millis) else {
        return Ok(());
    };
    tx.execute("DELETE FROM losses WHERE time < ?1", [limit])?;
    let select = "SELECT max(id) FROM calls INDEXED BY calls_time WHERE time < ?1";
    let last: Option<i64> = tx.query_row(select, [limit], |row| row.get(0))?;
    last.map_or(Ok(()), |last| remove(tx, last))
}

/// Removes the oldest calls while the database has more bytes than allowed.
fn remove_beyond(tx: &Transaction<'_>, bytes_max: u64) -> rusqlite::Result<()> {
    let pragma = |name| tx.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let page = pragma("page_size")?;
    let used = || -> rusqlite::Result<i64> {
        let pages = pragma("page_count")? - pragma("freelist_count")?;
        Ok(pages.saturating_mul(page))
    };
    let most = i64::try_from(bytes_max).unwrap_or(i64::MAX);
    let mut has_removed = false;
    while used()? > most {
        let ends = "SELECT (SELECT min(id) FROM calls), (SELECT max(id) FROM calls)";
        let ends = tx.query_row(ends, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (Some(first), Some(last)): (Option<i64>, Option<i64>) = ends else {
            break;
        };
        remove(tx, first + (last - first) / PART)?;
        has_removed = true;
    }
    if has_removed {
        tx.execute_batch(&format!("PRAGMA incremental_vacuum({VACUUM_PAGES})"))?;
    }
    Ok(())
}

/// Removes the calls up to one.
fn remove(tx: &Transaction<'_>, last: i64) -> rusqlite::Result<()> {
    for delete in [
        "DELETE FROM calls WHERE id <= ?1",
        "DELETE FROM details WHERE id <= ?1",
        "DELETE FROM texts WHERE rowid <= ?1",
    ] {
        tx.execute(delete, [last])?;
    }
    Ok(())
}

//! Ends the running records of dead processes.

use toolhost_contract::Locale;
use toolhost_store::StoreError;
use toolhost_store::rusqlite::{self, Transaction};

use super::results::{BATCH, interrupted, storable};
use super::{Record, Records, Source, State, row};

impl Records {
    /// Ends the running records of dead processes with `E_TOOL_INTERRUPTED` and returns them. Each
    /// record is returned once, to one of the processes that call this. Not cancel-safe: records ended
    /// by a dropped future are not returned again.
    pub(crate) async fn interrupt_dead_runs(&self) -> Result<Vec<Record>, StoreError> {
        let mut ended = Vec::new();
        for run_id in self.store.read(running_runs).await? {
            if self.store.is_alive(&run_id) {
                continue;
            }
            loop {
                let (run_id, locale) = (run_id.clone(), self.locale);
                let some = self
                    .store
                    .write(move |tx| interrupt_some(tx, &run_id, locale));
                match some.await {
                    Ok(some) if some.is_empty() => break,
                    Ok(some) => ended.extend(some),
                    Err(error) if ended.is_empty() => return Err(error),
                    // The next call ends the rest.
                    Err(error) => {
                        tracing::warn!(%error, "cannot end all interrupted calls; the rest is tried again later");
                        return Ok(ended);
                    }
                }
            }
        }
        Ok(ended)
    }

    /// Returns whether a record is running in a dead process.
    pub(super) fn is_left_behind(&self, record: &Record) -> bool {
        let Source::Background { run_id } = &record.source else {
            return false;
        };
        matches!(record.state, State::Running) && !self.store.is_alive(run_id)
    }
}

/// Returns the runs that have running records.
fn running_runs(tx: &Transaction<'_>) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT DISTINCT run_id FROM pending WHERE state = 'running'";
    let mut query = tx.prepare_cached(sql)?;
    let runs = query.query_map([], |row| row.get(0))?;
    runs.collect()
}

/// Ends one batch of the records of a dead run. Returns none if none are left.
fn interrupt_some(
    tx: &Transaction<'_>,
    run_id: &str,
    locale: Locale,
) -> rusqlite::Result<Vec<Record>> {
    let mut records = row::running(tx, run_id, BATCH)?;
    for record in &mut records {
        let result = interrupted(record, locale);
        row::end(tx, &record.handle, &storable(&result, locale))?;
        record.state = State::Done(Box::new(result));
    }
    Ok(records)
}

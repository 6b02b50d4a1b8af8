//! What a process left running when it died.

use toolhost_contract::Locale;
use toolhost_store::rusqlite::{self, Transaction};

use super::results::{BATCH, interrupted, storable};
use super::{Record, Records, Source, State, row};
use toolhost_store::StoreError;

impl Records {
    /// Ends what dead processes left running with `E_TOOL_INTERRUPTED`, and gives what it ended:
    /// each record once, to one of all the processes that ask. Await it to its end, or what it ended
    /// is told to nobody.
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
                    // What was ended is told now; the rest is ended when somebody asks again.
                    Err(error) => {
                        tracing::warn!(%error, "interrupted calls are not all recorded yet");
                        return Ok(ended);
                    }
                }
            }
        }
        Ok(ended)
    }

    /// Whether a record runs in a process that is no more.
    pub(super) fn is_left_behind(&self, record: &Record) -> bool {
        let Source::Background { run_id } = &record.source else {
            return false;
        };
        matches!(record.state, State::Running) && !self.store.is_alive(run_id)
    }
}

/// The runs that have records still running.
fn running_runs(tx: &Transaction<'_>) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT DISTINCT run_id FROM pending WHERE state = 'running'";
    let mut query = tx.prepare_cached(sql)?;
    let runs = query.query_map([], |row| row.get(0))?;
    runs.collect()
}

/// Ends some of what a dead run left; none are left where it ends none.
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

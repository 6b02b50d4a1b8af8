//! The orchestrator's tables: events that are owed a turn, ids of events that had theirs, and answers
//! that nobody has taken yet.

mod claim;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use toolhost_contract::AgentEvent;

use crate::store::{Store, StoreError};

use super::InstanceId;
use super::delivery::{Asker, Delivered, Kept, ReplyMode};

/// The tables, worked through the store's thread.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    store: Store,
    handled_max: u32,
}

/// An event as it is stored.
#[derive(Debug)]
pub(super) struct NewEvent {
    pub(super) event_id: String,
    pub(super) to: InstanceId,
    pub(super) asker: Option<Asker>,
    pub(super) json: String,
    /// Answers that may be kept for the one who asks.
    pub(super) kept_max: usize,
}

/// What became of an event that is to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inserted {
    /// It has this place.
    At(i64),
    /// One of its id is known.
    Known,
    /// Too many answers are kept already for the one who asks.
    TooManyKept,
}

/// How a turn is closed.
#[derive(Debug, Clone)]
pub(super) struct Settled {
    pub(super) seq: i64,
    pub(super) event_id: String,
    /// The answer, where it is kept, and for whom.
    pub(super) kept: Option<(Asker, Kept)>,
    /// Unix milliseconds.
    pub(super) now_ms: i64,
    /// Whose turn it was, and the answers it has taken.
    pub(super) taken: (InstanceId, Vec<String>),
}

/// An answer as it was kept.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) correlation_id: String,
    pub(super) event: AgentEvent,
    /// Length of the event's JSON.
    pub(super) bytes: usize,
}

impl Ledger {
    pub(super) fn new(store: Store, handled_max: u32) -> Self {
        Self { store, handled_max }
    }

    /// Stores an event.
    pub(super) async fn insert(&self, new: NewEvent) -> Result<Inserted, StoreError> {
        let run_id = self.store.run_id().to_owned();
        let work = move |db: &Connection| {
            let handled = "SELECT 1 FROM agent_handled WHERE event_id = ?1";
            let handled = db.prepare_cached(handled)?.exists([&new.event_id])?;
            if handled {
                return Ok(Inserted::Known);
            }
            if has_too_many_kept(db, &new)? {
                return Ok(Inserted::TooManyKept);
            }
            let insert = "INSERT INTO agent_events
                (event_id, run_id, agent, instance_key, mode, asker_agent, asker_key, event)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (event_id) DO NOTHING";
            let asker = new.asker.as_ref();
            let inserted = db.prepare_cached(insert)?.execute(params![
                new.event_id,
                run_id,
                new.to.agent(),
                new.to.key(),
                asker.map_or("send", |asker| asker.mode.as_str()),
                asker.map(|asker| asker.instance.agent()),
                asker.map(|asker| asker.instance.key()),
                new.json,
            ])?;
            Ok(match inserted {
                0 => Inserted::Known,
                _ => Inserted::At(db.last_insert_rowid()),
            })
        };
        self.store.write(move |db| work(db)).await
    }

    /// Notes that an event is being delivered, and reads it; none where it is gone.
    pub(super) async fn begin(&self, seq: i64) -> Result<Option<Delivered>, StoreError> {
        let begin = "UPDATE agent_events SET attempts = attempts + 1 WHERE seq = ?1
            RETURNING seq, event, attempts, mode, asker_agent, asker_key";
        self.store
            .write(move |db| {
                let mut begin = db.prepare_cached(begin)?;
                begin.query_row([seq], delivered).optional()
            })
            .await
    }

    /// Takes back that an event was delivered: the host itself ended its turn.
    pub(super) async fn unbegin(&self, seq: i64) -> Result<(), StoreError> {
        let unbegin = "UPDATE agent_events SET attempts = attempts - 1 WHERE seq = ?1";
        self.store
            .write(move |db| db.execute(unbegin, [seq]).map(drop))
            .await
    }

    /// Closes a turn: its event is handled, its answer kept, the answers it took acknowledged.
    pub(super) async fn settle(&self, settled: Settled) -> Result<(), StoreError> {
        let (run_id, handled_max) = (self.store.run_id().to_owned(), self.handled_max);
        let work = move |db: &Connection| {
            remove_event(db, settled.seq)?;
            let handled = "INSERT INTO agent_handled (event_id) VALUES (?1)
                ON CONFLICT (event_id) DO NOTHING";
            db.prepare_cached(handled)?.execute([&settled.event_id])?;
            let forget = "DELETE FROM agent_handled
                WHERE seq <= (SELECT max(seq) FROM agent_handled) - ?1";
            db.prepare_cached(forget)?.execute([handled_max])?;
            if let Some((asker, kept)) = &settled.kept {
                keep(db, &run_id, asker, kept, settled.now_ms)?;
            }
            remove_responses(db, &settled.taken.0, &settled.taken.1)
        };
        self.store.write(move |db| work(db)).await
    }

    /// Removes an event that nobody waits for any more.
    pub(super) async fn withdraw(&self, seq: i64) -> Result<(), StoreError> {
        self.store.write(move |db| remove_event(db, seq)).await
    }

    /// The answers kept for an instance, oldest first, but those that a living run keeps.
    pub(super) async fn responses(
        &self,
        of: &InstanceId,
        mode: ReplyMode,
    ) -> Result<Vec<Stored>, StoreError> {
        let instance = of.clone();
        let select = "SELECT run_id, correlation_id, event FROM agent_responses
            WHERE agent = ?1 AND instance_key = ?2 AND mode = ?3 ORDER BY seq";
        let rows: Vec<(String, Stored)> = self
            .store
            .read(move |db| {
                let of = params![instance.agent(), instance.key(), mode.as_str()];
                let read = |row: &Row<'_>| {
                    let stored = Stored {
                        correlation_id: row.get(1)?,
                        event: event(row, 2)?,
                        bytes: row.get_ref(2)?.as_str()?.len(),
                    };
                    Ok((row.get(0)?, stored))
                };
                db.prepare_cached(select)?.query_map(of, read)?.collect()
            })
            .await?;
        let own = self.store.run_id();
        let rows = rows.into_iter();
        let ours = rows.filter(|(run, _)| run == own || !self.store.is_alive(run));
        Ok(ours.map(|(_, stored)| stored).collect())
    }

    /// Removes answers that were taken.
    pub(super) async fn acknowledge(
        &self,
        of: &InstanceId,
        correlation_ids: Vec<String>,
    ) -> Result<(), StoreError> {
        let of = of.clone();
        self.store
            .write(move |db| remove_responses(db, &of, &correlation_ids))
            .await
    }

    /// Removes answers that are older than that; says how many.
    pub(super) async fn forget_responses(&self, before_ms: i64) -> Result<usize, StoreError> {
        let forget = "DELETE FROM agent_responses WHERE created_ms < ?1";
        self.store
            .write(move |db| db.execute(forget, [before_ms]))
            .await
    }

    /// How many events are owed a turn, and how many answers are kept.
    pub(super) async fn counts(&self) -> Result<(u32, u32), StoreError> {
        let counts = "SELECT (SELECT count(*) FROM agent_events),
            (SELECT count(*) FROM agent_responses)";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        self.store
            .read(move |db| db.query_row(counts, [], read))
            .await
    }
}

/// Whether the one who asks has more answers, kept or on their way, than it may have.
fn has_too_many_kept(db: &Connection, new: &NewEvent) -> rusqlite::Result<bool> {
    let Some(asker) = new
        .asker
        .as_ref()
        .filter(|asker| asker.mode != ReplyMode::Wait)
    else {
        return Ok(false);
    };
    let count = "SELECT
        (SELECT count(*) FROM agent_responses WHERE agent = ?1 AND instance_key = ?2)
        + (SELECT count(*) FROM agent_events
            WHERE asker_agent = ?1 AND asker_key = ?2 AND mode IN ('async', 'delegate'))";
    let of = [asker.instance.agent(), asker.instance.key()];
    let kept: u32 = db.prepare_cached(count)?.query_row(of, |row| row.get(0))?;
    Ok(usize::try_from(kept).unwrap_or(usize::MAX) >= new.kept_max)
}

fn remove_event(db: &Connection, seq: i64) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM agent_events WHERE seq = ?1")?
        .execute([seq])
        .map(drop)
}

fn keep(
    db: &Connection,
    run_id: &str,
    asker: &Asker,
    kept: &Kept,
    now_ms: i64,
) -> rusqlite::Result<()> {
    let json = serde_json::to_string(&kept.event)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let insert = "INSERT INTO agent_responses
        (correlation_id, run_id, agent, instance_key, mode, event, created_ms)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT (agent, instance_key, correlation_id) DO NOTHING";
    let values = params![
        kept.correlation_id,
        run_id,
        asker.instance.agent(),
        asker.instance.key(),
        asker.mode.as_str(),
        json,
        now_ms,
    ];
    db.prepare_cached(insert)?.execute(values).map(drop)
}

fn remove_responses(db: &Connection, of: &InstanceId, ids: &[String]) -> rusqlite::Result<()> {
    let delete = "DELETE FROM agent_responses
        WHERE agent = ?1 AND instance_key = ?2 AND correlation_id = ?3";
    for id in ids {
        let which = params![of.agent(), of.key(), id];
        db.prepare_cached(delete)?.execute(which)?;
    }
    Ok(())
}

fn delivered(row: &Row<'_>) -> rusqlite::Result<Delivered> {
    let mode: String = row.get(3)?;
    let mode = ReplyMode::ALL.into_iter().find(|m| m.as_str() == mode);
    let (agent, key): (Option<String>, Option<String>) = (row.get(4)?, row.get(5)?);
    let asker = match (mode, agent, key) {
        (Some(mode), Some(agent), Some(key)) => Some(Asker {
            instance: InstanceId::new(&agent, &key),
            mode,
        }),
        _ => None,
    };
    Ok(Delivered {
        seq: row.get(0)?,
        event: event(row, 1)?,
        attempt: row.get(2)?,
        asker,
    })
}

fn event(row: &Row<'_>, column: usize) -> rusqlite::Result<AgentEvent> {
    let json: String = row.get(column)?;
    serde_json::from_str(&json).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

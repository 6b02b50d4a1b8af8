//! The orchestrator's tables: events that are owed a turn, ids of events that had theirs, and answers
//! that nobody has taken yet.

mod claim;

use toolhost_contract::AgentEvent;
use toolhost_store::rusqlite::types::Type;
use toolhost_store::rusqlite::{self, Connection, OptionalExtension, Row, params};

use toolhost_store::{Store, StoreError};

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
    /// Answers that may be kept for the one who asks, and their bytes.
    pub(super) kept_max: (usize, usize),
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
    /// Those that are kept are too large together.
    TooMuchKept,
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
            if let Some(too_much) = kept_too_much(db, &new)? {
                return Ok(too_much);
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

    /// The answers kept for an instance, oldest first, but those that a living run keeps, and those
    /// that are known; one at least, and no more than have so many bytes together.
    pub(super) async fn responses(
        &self,
        of: &InstanceId,
        mode: ReplyMode,
        known: Vec<String>,
        bytes_max: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        let keepers = self.keepers(of, mode).await?;
        let instance = of.clone();
        let select = "SELECT run_id, correlation_id, event FROM agent_responses
            WHERE agent = ?1 AND instance_key = ?2 AND mode = ?3 ORDER BY seq";
        let work = move |db: &Connection| {
            let mut select = db.prepare_cached(select)?;
            let of = params![instance.agent(), instance.key(), mode.as_str()];
            let mut rows = select.query(of)?;
            let (mut responses, mut bytes) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                let (run, correlation_id): (String, String) = (row.get(0)?, row.get(1)?);
                if !keepers.contains(&run) || known.contains(&correlation_id) {
                    continue;
                }
                bytes += row.get_ref(2)?.as_str()?.len();
                if bytes > bytes_max && !responses.is_empty() {
                    break;
                }
                responses.push(Stored {
                    correlation_id,
                    event: event(row, 2)?,
                });
            }
            Ok(responses)
        };
        self.store.read(move |db| work(db)).await
    }

    /// The runs whose answers for an instance are to be given: this one's, and those that died.
    async fn keepers(&self, of: &InstanceId, mode: ReplyMode) -> Result<Vec<String>, StoreError> {
        let instance = of.clone();
        let select = "SELECT DISTINCT run_id FROM agent_responses
            WHERE agent = ?1 AND instance_key = ?2 AND mode = ?3";
        let work = move |db: &Connection| {
            let of = params![instance.agent(), instance.key(), mode.as_str()];
            let mut select = db.prepare_cached(select)?;
            let runs = select.query_map(of, |row| row.get(0))?;
            runs.collect()
        };
        let mut runs: Vec<String> = self.store.read(move |db| work(db)).await?;
        let own = self.store.run_id();
        runs.retain(|run| run == own || !self.store.is_alive(run));
        Ok(runs)
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
fn kept_too_much(db: &Connection, new: &NewEvent) -> rusqlite::Result<Option<Inserted>> {
    let Some(asker) = new
        .asker
        .as_ref()
        .filter(|asker| asker.mode != ReplyMode::Wait)
    else {
        return Ok(None);
    };
    let count = "SELECT count(*), coalesce(sum(octet_length(event)), 0),
            (SELECT count(*) FROM agent_events
                WHERE asker_agent = ?1 AND asker_key = ?2 AND mode IN ('async', 'delegate'))
        FROM agent_responses WHERE agent = ?1 AND instance_key = ?2";
    let of = [asker.instance.agent(), asker.instance.key()];
    let counts = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let (kept, bytes, coming): (i64, i64, i64) = db.prepare_cached(count)?.query_row(of, counts)?;
    let (most, most_bytes) = new.kept_max;
    let reaches = |count: i64, most: usize| usize::try_from(count).is_ok_and(|count| count >= most);
    Ok(if reaches(kept.saturating_add(coming), most) {
        Some(Inserted::TooManyKept)
    } else if reaches(bytes, most_bytes) {
        Some(Inserted::TooMuchKept)
    } else {
        None
    })
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

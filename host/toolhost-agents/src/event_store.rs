//! The orchestrator's tables: events that wait for their turn, ids of handled events, and responses that
//! were not yet taken.

use toolhost_contract::AgentEvent;
use toolhost_store::rusqlite::types::Type;
use toolhost_store::rusqlite::{self, Connection, OptionalExtension, Row, params};

use toolhost_store::{Store, StoreError};

use super::InstanceId;
use super::delivery::{Asker, Delivered, ReplyMode, StoredResponse};
use super::mailbox::{Entry, Obligation};

/// The tables, used on the store's thread.
#[derive(Debug, Clone)]
pub(super) struct EventStore {
    store: Store,
    handled_max: u32,
}

/// An event to be stored.
#[derive(Debug)]
pub(super) struct NewEvent {
    pub(super) event_id: String,
    pub(super) to: InstanceId,
    pub(super) asker: Option<Asker>,
    pub(super) json: String,
    /// Responses that may be stored for the requester, and their bytes.
    pub(super) responses_max: (usize, usize),
}

/// The outcome of storing an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inserted {
    /// It was stored in this row.
    At(i64),
    /// An event of its id was stored before.
    Known,
    /// The requester has too many responses.
    TooManyResponses,
    /// The requester's responses are too large.
    ResponsesTooLarge,
}

/// The end of a turn.
#[derive(Debug, Clone)]
pub(super) struct Settled {
    pub(super) seq: i64,
    pub(super) event_id: String,
    /// The response, if it is to be stored, and for whom.
    pub(super) response: Option<(Asker, StoredResponse)>,
    /// Unix milliseconds.
    pub(super) now_ms: i64,
    /// The instance, and the correlation ids of the responses that the turn took.
    pub(super) taken: (InstanceId, Vec<String>),
}

impl EventStore {
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
            if let Some(too_much) = responses_exceeded(db, &new)? {
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

    /// Counts a delivery of an event, and reads the event; none if it was removed.
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

    /// Uncounts a delivery whose turn the host itself ended.
    pub(super) async fn undo_begin(&self, seq: i64) -> Result<(), StoreError> {
        let undo_begin = "UPDATE agent_events SET attempts = attempts - 1 WHERE seq = ?1";
        self.store
            .write(move |db| db.execute(undo_begin, [seq]).map(drop))
            .await
    }

    /// Closes a turn: marks its event as handled, stores the response, removes the responses it took.
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
            if let Some((asker, response)) = &settled.response {
                insert_response(db, &run_id, asker, response, settled.now_ms)?;
            }
            remove_responses(db, &settled.taken.0, &settled.taken.1)
        };
        self.store.write(move |db| work(db)).await
    }

    /// Removes an event whose requester no longer waits.
    pub(super) async fn withdraw(&self, seq: i64) -> Result<(), StoreError> {
        self.store.write(move |db| remove_event(db, seq)).await
    }

    /// Returns the oldest responses for an instance, but those that another living run owns, and those
    /// that are known. At least one; more if they have at most `bytes_max` bytes together.
    pub(super) async fn responses(
        &self,
        of: &InstanceId,
        mode: ReplyMode,
        known: Vec<String>,
        bytes_max: usize,
    ) -> Result<Vec<StoredResponse>, StoreError> {
        let releasable_runs = self.releasable_runs(of, mode).await?;
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
                if !releasable_runs.contains(&run) || known.contains(&correlation_id) {
                    continue;
                }
                bytes += row.get_ref(2)?.as_str()?.len();
                if bytes > bytes_max && !responses.is_empty() {
                    break;
                }
                responses.push(StoredResponse {
                    correlation_id,
                    event: event(row, 2)?,
                });
            }
            Ok(responses)
        };
        self.store.read(move |db| work(db)).await
    }

    /// Returns the runs whose responses may be given to an instance: this one, and those that died.
    async fn releasable_runs(
        &self,
        of: &InstanceId,
        mode: ReplyMode,
    ) -> Result<Vec<String>, StoreError> {
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

    /// Removes responses that were taken.
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

    /// Removes older responses; returns how many.
    pub(super) async fn remove_responses_before(
        &self,
        before_ms: i64,
    ) -> Result<usize, StoreError> {
        let forget = "DELETE FROM agent_responses WHERE created_ms < ?1";
        self.store
            .write(move |db| db.execute(forget, [before_ms]))
            .await
    }

    /// Returns the agents that have events of dead runs, and those runs.
    pub(super) async fn orphans(&self) -> Result<Vec<(String, String)>, StoreError> {
        let own = self.store.run_id().to_owned();
        let select = "SELECT DISTINCT agent, run_id FROM agent_events WHERE run_id <> ?1";
        let mut orphans: Vec<(String, String)> = self
            .store
            .read(move |db| {
                let mut select = db.prepare_cached(select)?;
                let rows = select.query_map([own], |row| Ok((row.get(0)?, row.get(1)?)))?;
                rows.collect()
            })
            .await?;
        orphans.retain(|(_, run)| !self.store.is_alive(run));
        Ok(orphans)
    }

    /// Takes over the events of a run for the instances of an agent, in their order.
    pub(super) async fn claim(
        &self,
        agent: &str,
        run: &str,
    ) -> Result<Vec<(InstanceId, Entry)>, StoreError> {
        let (agent, run) = (agent.to_owned(), run.to_owned());
        let own = self.store.run_id().to_owned();
        let work = move |db: &Connection| {
            let select = "SELECT seq, event_id, instance_key, octet_length(event) FROM agent_events
                WHERE agent = ?1 AND run_id = ?2 ORDER BY seq";
            let mut select = db.prepare(select)?;
            let rows = select.query_map([&agent, &run], |row| {
                let key: String = row.get(2)?;
                let entry = Entry {
                    seq: row.get(0)?,
                    event_id: row.get(1)?,
                    obligation: Obligation::Required,
                    bytes: usize::try_from(row.get::<_, i64>(3)?).unwrap_or_default(),
                };
                Ok((InstanceId::new(&agent, &key), entry))
            })?;
            let claimed = rows.collect::<Result<Vec<_>, _>>()?;
            let claim = "UPDATE agent_events SET run_id = ?3 WHERE agent = ?1 AND run_id = ?2";
            db.execute(claim, [&agent, &run, &own])?;
            Ok(claimed)
        };
        self.store.write(move |db| work(db)).await
    }

    /// Returns the id of this run.
    pub(super) fn own_run(&self) -> &str {
        self.store.run_id()
    }

    /// Counts the stored events and responses.
    pub(super) async fn counts(&self) -> Result<(u32, u32), StoreError> {
        let counts = "SELECT (SELECT count(*) FROM agent_events),
            (SELECT count(*) FROM agent_responses)";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        self.store
            .read(move |db| db.query_row(counts, [], read))
            .await
    }
}

/// Checks the responses of the requester, stored or expected, against the limits.
fn responses_exceeded(db: &Connection, new: &NewEvent) -> rusqlite::Result<Option<Inserted>> {
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
    let (stored, bytes, expected): (i64, i64, i64) =
        db.prepare_cached(count)?.query_row(of, counts)?;
    let (count_max, bytes_max) = new.responses_max;
    let reaches = |count: i64, max: usize| usize::try_from(count).is_ok_and(|count| count >= max);
    Ok(if reaches(stored.saturating_add(expected), count_max) {
        Some(Inserted::TooManyResponses)
    } else if reaches(bytes, bytes_max) {
        Some(Inserted::ResponsesTooLarge)
    } else {
        None
    })
}

fn remove_event(db: &Connection, seq: i64) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM agent_events WHERE seq = ?1")?
        .execute([seq])
        .map(drop)
}

fn insert_response(
    db: &Connection,
    run_id: &str,
    asker: &Asker,
    response: &StoredResponse,
    now_ms: i64,
) -> rusqlite::Result<()> {
    let json = serde_json::to_string(&response.event)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let insert = "INSERT INTO agent_responses
        (correlation_id, run_id, agent, instance_key, mode, event, created_ms)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT (agent, instance_key, correlation_id) DO NOTHING";
    let values = params![
        response.correlation_id,
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

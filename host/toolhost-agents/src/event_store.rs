//! The orchestrator's tables: events that wait for their turn, ids of handled events, and responses that
//! were not yet taken.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use toolhost_contract::AgentEvent;
use toolhost_store::sql::{self, Row, Transaction, params};
use toolhost_store::{Store, StoreError};

use super::delivery::{Asker, Delivered, Envelope, ReplyMode};
use super::mailbox::{Obligation, QueuedEvent};
use super::{InstanceId, OrchestratorConfig, Undelivered};

#[derive(Debug, Clone)]
pub(super) struct EventStore {
    store: Store,
    handled_max: u32,
    /// Responses that may be stored or expected for one instance.
    responses_max: usize,
    /// Bytes of the stored responses for one instance.
    responses_bytes: usize,
}

#[derive(Debug, Clone)]
pub(super) struct Settled {
    pub(super) seq: i64,
    pub(super) event_id: String,
    /// The response, if it is to be stored, and for whom.
    pub(super) response: Option<(Asker, AgentEvent)>,
    /// Unix milliseconds.
    pub(super) now_ms: i64,
    /// The instance, and the correlation ids of the responses that the turn took.
    pub(super) taken: (InstanceId, Vec<String>),
}

impl EventStore {
    pub(super) fn new(store: Store, config: &OrchestratorConfig) -> Self {
        Self {
            store,
            handled_max: config.handled_max,
            responses_max: config.responses_max,
            responses_bytes: config.responses_bytes,
        }
    }

    /// Stores an event as this JSON. Returns its row; none if an event of its id was stored before.
    pub(super) async fn insert(
        &self,
        new: Envelope,
        json: String,
    ) -> Result<Option<i64>, Undelivered> {
        let this = self.clone();
        let work = move |db: &Transaction<'_>| {
            let id = &new.event.id;
            let handled = "SELECT 1 FROM agent_handled WHERE event_id = ?1";
            if db.exists(handled, [id])? {
                return Ok(Ok(None));
            }
            if let Some(refusal) = this.responses_exceeded(db, new.asker.as_ref())? {
                return Ok(Err(refusal));
            }
            let insert = "INSERT INTO agent_events
                (event_id, run_id, agent, instance_key, mode, asker_agent, asker_key, event)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (event_id) DO NOTHING
                RETURNING seq";
            let asker = new.asker.as_ref();
            let seq = db.query_optional(
                insert,
                params![
                    id,
                    db.run_id(),
                    new.to.agent(),
                    new.to.key(),
                    asker.map_or("send", |asker| asker.mode.as_str()),
                    asker.map(|asker| asker.instance.agent()),
                    asker.map(|asker| asker.instance.key()),
                    json,
                ],
                |row| row.get(0),
            )?;
            Ok(Ok(seq))
        };
        let inserted = self.store.write(move |db| work(db)).await;
        inserted.map_err(|error| Undelivered::NotStored(error.into()))?
    }

    /// Counts a delivery of an event, and reads the event; none if it was removed, or is another run's by now.
    pub(super) async fn begin(&self, seq: i64) -> Result<Option<Delivered>, StoreError> {
        let begin = "UPDATE agent_events SET attempts = attempts + 1 WHERE seq = ?1 AND run_id = ?2
            RETURNING seq, event, attempts, mode, asker_agent, asker_key";
        let begin = self
            .store
            .write(move |db| db.query_optional(begin, (seq, db.run_id()), delivered));
        begin.await
    }

    /// Uncounts a delivery whose turn the host itself ended.
    pub(super) async fn undo_begin(&self, seq: i64) -> Result<(), StoreError> {
        let undo_begin =
            "UPDATE agent_events SET attempts = attempts - 1 WHERE seq = ?1 AND run_id = ?2";
        self.store
            .write(move |db| db.execute(undo_begin, (seq, db.run_id())).map(drop))
            .await
    }

    /// Closes a turn: marks its event as handled, stores the response, removes the responses it took. Changes nothing if
    /// another run has taken the event over, also if that one has closed its turn: a response is stored once.
    pub(super) async fn settle(&self, settled: Settled) -> Result<(), StoreError> {
        let handled_max = self.handled_max;
        let work = move |db: &Transaction<'_>| {
            let remove = "DELETE FROM agent_events WHERE seq = ?1 AND run_id = ?2";
            if db.execute(remove, (settled.seq, db.run_id()))? == 0 {
                return Ok(());
            }
            let handled = "INSERT INTO agent_handled (event_id) VALUES (?1)
                ON CONFLICT (event_id) DO NOTHING";
            db.execute(handled, [&settled.event_id])?;
            let forget = "DELETE FROM agent_handled
                WHERE seq <= (SELECT max(seq) FROM agent_handled) - ?1";
            db.execute(forget, [handled_max])?;
            if let Some((asker, response)) = &settled.response {
                let json = serde_json::to_string(response)
                    .map_err(|error| sql::Error::Unstorable(error.into()))?;
                let insert = "INSERT INTO agent_responses
                    (correlation_id, run_id, agent, instance_key, mode, event, created_ms)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                    ON CONFLICT (agent, instance_key, correlation_id) DO NOTHING";
                db.execute(
                    insert,
                    params![
                        response.in_reply_to(),
                        db.run_id(),
                        asker.instance.agent(),
                        asker.instance.key(),
                        asker.mode.as_str(),
                        json,
                        settled.now_ms,
                    ],
                )?;
            }
            remove_responses(db, &settled.taken.0, &settled.taken.1)
        };
        self.store.write(move |db| work(db)).await
    }

    /// Removes an event whose requester no longer waits.
    pub(super) async fn withdraw(&self, seq: i64) -> Result<(), StoreError> {
        self.store.write(move |db| remove_event(db, seq)).await
    }

    /// Returns the oldest responses for an instance by their correlation ids, but those that another
    /// living run owns, and those that are known. At least one; more if they have at most `bytes_max`
    /// bytes together.
    pub(super) async fn responses(
        &self,
        of: &InstanceId,
        mode: ReplyMode,
        known_ids: Vec<String>,
        bytes_max: usize,
    ) -> Result<Vec<(String, AgentEvent)>, StoreError> {
        let instance = of.clone();
        let select = "SELECT run_id, correlation_id, event FROM agent_responses
            WHERE agent = ?1 AND instance_key = ?2 AND mode = ?3 ORDER BY seq";
        let work = move |db: &Transaction<'_>| {
            let of = params![instance.agent(), instance.key(), mode.as_str()];
            let (mut responses, mut bytes) = (Vec::new(), 0);
            let mut foreign: HashMap<String, bool> = HashMap::new();
            db.for_each(select, of, |row| {
                let (run, correlation_id): (String, String) = (row.get(0)?, row.get(1)?);
                let is_foreign = match foreign.get(&run) {
                    Some(is_foreign) => *is_foreign,
                    None => run != db.run_id() && db.is_alive(&run)?,
                };
                foreign.insert(run, is_foreign);
                if is_foreign || known_ids.contains(&correlation_id) {
                    return Ok(ControlFlow::Continue(()));
                }
                bytes += row.text_len(2)?;
                if bytes > bytes_max && !responses.is_empty() {
                    return Ok(ControlFlow::Break(()));
                }
                responses.push((correlation_id, event(row, 2)?));
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(responses)
        };
        self.store.read(move |db| work(db)).await
    }

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
        let select = "SELECT DISTINCT agent, run_id FROM agent_events WHERE run_id <> ?1";
        let orphans = self.store.read(move |db| {
            let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let foreign: Vec<(String, String)> = db.query_map(select, [db.run_id()], read)?;
            let mut orphans = Vec::new();
            for (agent, run) in foreign {
                if !db.is_alive(&run)? {
                    orphans.push((agent, run));
                }
            }
            Ok(orphans)
        });
        orphans.await
    }

    /// Takes over the events of a run for the instances of an agent, in their order.
    pub(super) async fn claim(
        &self,
        agent: &str,
        run: &str,
    ) -> Result<Vec<(InstanceId, QueuedEvent)>, StoreError> {
        let (agent, run) = (agent.to_owned(), run.to_owned());
        let work = move |db: &Transaction<'_>| {
            let select = "SELECT seq, event_id, instance_key, octet_length(event) FROM agent_events
                WHERE agent = ?1 AND run_id = ?2 ORDER BY seq";
            let claimed = db.query_map(select, [&agent, &run], |row| {
                let key: String = row.get(2)?;
                let entry = QueuedEvent {
                    seq: row.get(0)?,
                    event_id: row.get(1)?,
                    obligation: Obligation::Required,
                    bytes: usize::try_from(row.get::<i64>(3)?).unwrap_or_default(),
                };
                Ok((InstanceId::new(&agent, &key), entry))
            })?;
            let claim = "UPDATE agent_events SET run_id = ?3 WHERE agent = ?1 AND run_id = ?2";
            db.execute(claim, [agent.as_str(), &run, db.run_id()])?;
            Ok(claimed)
        };
        self.store.write(move |db| work(db)).await
    }

    pub(super) fn own_run(&self) -> Arc<str> {
        self.store.run_id()
    }

    pub(super) async fn counts(&self) -> Result<(u32, u32), StoreError> {
        let counts = "SELECT (SELECT count(*) FROM agent_events),
            (SELECT count(*) FROM agent_responses)";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        self.store
            .read(move |db| db.query_row(counts, (), read))
            .await
    }

    /// Checks the responses of the requester, stored or expected, against the limits.
    fn responses_exceeded(
        &self,
        db: &Transaction<'_>,
        asker: Option<&Asker>,
    ) -> sql::Result<Option<Undelivered>> {
        let Some(asker) = asker.filter(|asker| asker.mode != ReplyMode::Wait) else {
            return Ok(None);
        };
        let count = "SELECT CAST(coalesce(sum(octet_length(event)), 0) AS BIGINT), count(*) +
                (SELECT count(*) FROM agent_events
                    WHERE asker_agent = ?1 AND asker_key = ?2 AND mode IN ('async', 'delegate'))
            FROM agent_responses WHERE agent = ?1 AND instance_key = ?2";
        let of = [asker.instance.agent(), asker.instance.key()];
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let (bytes, count): (i64, i64) = db.query_row(count, of, read)?;
        let (count_max, bytes_max) = (self.responses_max, self.responses_bytes);
        let reaches = |n: i64, max: usize| usize::try_from(n).is_ok_and(|n| n >= max);
        let limit = if reaches(count, count_max) {
            format!("{count_max} responses wait to be taken already")
        } else if reaches(bytes, bytes_max) {
            format!("{bytes_max} bytes of responses wait to be taken already")
        } else {
            return Ok(None);
        };
        Ok(Some(Undelivered::LimitReached(limit)))
    }
}

fn remove_event(db: &Transaction<'_>, seq: i64) -> sql::Result<()> {
    db.execute("DELETE FROM agent_events WHERE seq = ?1", [seq])
        .map(drop)
}

fn remove_responses(db: &Transaction<'_>, of: &InstanceId, ids: &[String]) -> sql::Result<()> {
    let delete = "DELETE FROM agent_responses
        WHERE agent = ?1 AND instance_key = ?2 AND correlation_id = ?3";
    for id in ids {
        let which = params![of.agent(), of.key(), id];
        db.execute(delete, which)?;
    }
    Ok(())
}

fn delivered(row: &Row<'_>) -> sql::Result<Delivered> {
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

fn event(row: &Row<'_>, column: usize) -> sql::Result<AgentEvent> {
    let json: String = row.get(column)?;
    serde_json::from_str(&json).map_err(|error| sql::Error::unreadable(column.to_string(), error))
}

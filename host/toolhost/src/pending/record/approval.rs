//! Records of what calls wait to do, and of what was decided.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use toolhost_contract::{HeldEffect, ToolResult};
use toolhost_store::rusqlite::types::ToSqlOutput;
use toolhost_store::rusqlite::{self, OptionalExtension, Row, ToSql, Transaction, named_params};
use toolhost_store::{StoreError, is_random_text, random_text};

use super::records::{AcceptError, Records, unix_ms};
use super::row::unreadable;
use super::{Handle, NewRecord, Owner};

/// Prefix of every id.
const PREFIX: &str = "approval_";

/// Random letters of an id: 160 bits.
const LETTERS: usize = 32;

/// Most bytes that the waiting calls of one owner keep: staged files, and what their runs have received.
const BYTES_PER_OWNER: i64 = 1 << 30;

/// Longest name of who decided, and reason, in characters.
pub(crate) const TEXT_MAX: usize = 1_000;

/// Id of an approval: `approval_` and 160 random bits in base32.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ApprovalId(String);

impl ApprovalId {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let letters = text.strip_prefix(PREFIX)?;
        is_random_text::<LETTERS>(letters).then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ToSql for ApprovalId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}

/// What a call waits to do.
#[derive(Debug, Clone)]
pub(crate) struct NewHold {
    pub(crate) effect: HeldEffect,
    /// What somebody decides about, without secrets.
    pub(crate) shown: Value,
    /// SHA-256 of what is done once somebody consents.
    pub(crate) digest: String,
    /// SHA-256 of the component, the rules and the arguments.
    pub(crate) bound: String,
    /// The staging directory of its changes.
    pub(crate) staging: Option<String>,
    /// What the run answered, whose changes wait.
    pub(crate) answer: Option<ToolResult>,
    /// What its runs have received so far.
    pub(crate) prefix: Option<Vec<u8>>,
    /// Bytes of the staged files.
    pub(crate) staged_bytes: u64,
    pub(crate) expires_at: SystemTime,
    /// Whether another call of this process waits for it, and does it itself.
    pub(crate) is_inner: bool,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) is_approved: bool,
    pub(crate) by: String,
    pub(crate) why: Option<String>,
    pub(crate) at: SystemTime,
}

/// What a call waits to do, as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Hold {
    pub(crate) id: ApprovalId,
    pub(crate) handle: String,
    pub(crate) effect: HeldEffect,
    pub(crate) shown: Value,
    pub(crate) digest: String,
    pub(crate) bound: String,
    pub(crate) staging: Option<String>,
    pub(crate) answer: Option<ToolResult>,
    pub(crate) prefix: Option<Vec<u8>>,
    pub(crate) created_at: SystemTime,
    pub(crate) expires_at: SystemTime,
    pub(crate) decision: Option<Decision>,
    /// The process that does it.
    pub(crate) released_by: Option<String>,
    /// The process in which another call waits for it.
    pub(crate) inner_of: Option<String>,
}

/// A hold with whose call it is of.
#[derive(Debug, Clone)]
pub(crate) struct OwnedHold {
    pub(crate) hold: Hold,
    pub(crate) owner: Owner,
    pub(crate) call_id: String,
    pub(crate) tool_name: String,
    /// Whether the call still waits.
    pub(crate) is_open: bool,
}

/// What became of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decided {
    /// It counts. The staging directory of what was denied can go.
    Counts { staging: Option<String> },
    /// There is no such id, or it is of another instance.
    Unknown,
    /// Somebody decided before.
    Already(Decision),
    /// It is too late.
    Expired,
    /// The call was cancelled, or something else was asked for since.
    Ended,
}

const COLUMNS: &str =
    "a.id, a.handle, a.effect, a.shown, a.digest, a.bound, a.staging, a.answer, a.prefix,
    a.created_ms, a.expires_ms, a.decision, a.decided_ms, a.decided_by, a.why, a.released_by, a.inner_of";

/// Whether the approval `a` is the newest one of its call `p`, which is held.
const IS_OPEN: &str = "(p.state = 'held'
    AND a.number = (SELECT max(number) FROM approvals WHERE handle = a.handle))";

impl Records {
    /// Stores that a call waits: one that has a handle already, or a new one. Returns its handle and the id.
    ///
    /// # Errors
    /// [`AcceptError`] if a limit is reached or the store fails.
    pub(crate) async fn hold(
        &self,
        existing: Option<Handle>,
        new: NewRecord,
        hold: NewHold,
        now: SystemTime,
    ) -> Result<Handle, AcceptError> {
        let run_id = self.store.run_id().to_owned();
        let handle = match existing {
            Some(handle) => {
                let (held, message) = (handle.clone(), new.call.message.as_json().to_owned());
                let is_held = self
                    .store
                    .write(move |tx| {
                        let sql = "UPDATE pending SET state = 'held', run_id = NULL, message = ?2
                             WHERE handle = ?1 AND state IN ('running', 'waiting', 'held')";
                        if tx.prepare_cached(sql)?.execute((&held, &message))? == 0 {
                            return Ok(Ok(false));
                        }
                        Ok(insert(tx, &held, &hold, (now, &run_id))?.map(|()| true))
                    })
                    .await??;
                if !is_held {
                    return Err(AcceptError::Cancelled);
                }
                handle
            }
            None => {
                let insert_hold = move |tx: &Transaction<'_>, handle: &Handle| {
                    insert(tx, handle, &hold, (now, &run_id))
                };
                self.accept_with(new, now, "held", insert_hold).await?
            }
        };
        Ok(handle)
    }

    /// Whether somebody has approved a call as a whole.
    pub(crate) async fn is_call_approved(&self, handle: &Handle) -> Result<bool, StoreError> {
        let handle = handle.clone();
        let approved = self.store.read(move |tx| {
            let sql = "SELECT EXISTS (SELECT 1 FROM approvals
                 WHERE handle = ?1 AND effect = 'call' AND decision = 'approved')";
            tx.prepare_cached(sql)?
                .query_row((&handle,), |row| row.get(0))
        });
        approved.await
    }

    /// Returns what a call waits for now.
    pub(crate) async fn hold_of(&self, handle: &Handle) -> Result<Option<Hold>, StoreError> {
        let handle = handle.clone();
        let newest = self.store.read(move |tx| {
            let sql = format!(
                "SELECT {COLUMNS} FROM approvals a WHERE a.handle = ?1 ORDER BY a.number DESC LIMIT 1"
            );
            let hold = tx.prepare_cached(&sql)?.query_row((&handle,), read);
            hold.optional()
        });
        newest.await
    }

    /// Returns up to `most` approvals, the newest first: of one owner or of all, those that wait or all.
    pub(crate) async fn holds(
        &self,
        owner: Option<Owner>,
        is_open: bool,
        now: SystemTime,
        most: u32,
    ) -> Result<Vec<OwnedHold>, StoreError> {
        let now_ms = unix_ms(now);
        let listed = self.store.read(move |tx| {
            let sql = format!(
                "SELECT {COLUMNS}, p.bundle, p.agent, p.instance_key, p.call_id, p.tool_name, {IS_OPEN} AS is_open
                 FROM approvals a JOIN pending p ON p.handle = a.handle
                 WHERE (?1 IS NULL OR (p.bundle = ?1 AND p.agent = ?2 AND p.instance_key = ?3))
                     AND (NOT ?4 OR ({IS_OPEN} AND a.decision IS NULL AND a.expires_ms > ?5))
                 ORDER BY a.number DESC LIMIT ?6"
            );
            let (bundle, agent, key) = match &owner {
                Some(owner) => (
                    Some(&owner.bundle),
                    Some(&owner.agent),
                    Some(&owner.instance_key),
                ),
                None => (None, None, None),
            };
            let mut query = tx.prepare_cached(&sql)?;
            let rows = query.query_map((bundle, agent, key, is_open, now_ms, most), read_owned)?;
            rows.collect()
        });
        listed.await
    }

    /// Returns an approval; none if it is not of this owner.
    pub(crate) async fn hold_by_id(
        &self,
        id: &ApprovalId,
        owner: Option<Owner>,
    ) -> Result<Option<OwnedHold>, StoreError> {
        let id = id.clone();
        let one = self.store.read(move |tx| by_id(tx, &id));
        let one = one.await?;
        Ok(one.filter(|one| owner.is_none_or(|owner| one.owner == owner)))
    }

    /// Stores a decision. The first one counts.
    pub(crate) async fn decide(
        &self,
        id: &ApprovalId,
        owner: Option<Owner>,
        decision: Decision,
    ) -> Result<Decided, StoreError> {
        let id = id.clone();
        let decided = self.store.write(move |tx| {
            let found = by_id(tx, &id)?;
            let Some(found) = found.filter(|it| owner.is_none_or(|owner| it.owner == owner)) else {
                return Ok(Decided::Unknown);
            };
            if let Some(before) = found.hold.decision {
                return Ok(Decided::Already(before));
            }
            if !found.is_open {
                return Ok(Decided::Ended);
            }
            if found.hold.expires_at <= decision.at {
                return Ok(Decided::Expired);
            }
            tx.prepare_cached(
                "UPDATE approvals SET decision = ?2, decided_ms = ?3, decided_by = ?4, why = ?5
                 WHERE id = ?1 AND decision IS NULL",
            )?
            .execute((
                &id,
                if decision.is_approved {
                    "approved"
                } else {
                    "denied"
                },
                unix_ms(decision.at),
                &decision.by,
                &decision.why,
            ))?;
            let staging = found.hold.staging.filter(|_| !decision.is_approved);
            Ok(Decided::Counts { staging })
        });
        decided.await
    }

    /// Takes what was approved, to do it in this process: once. `dead` is the process that took it and ended before it
    /// was done. Where `runs` is true, the call runs again from now on, and is interrupted if this process ends.
    pub(crate) async fn take_approved(
        &self,
        id: &ApprovalId,
        dead: Option<String>,
        runs: bool,
    ) -> Result<bool, StoreError> {
        let (id, run_id) = (id.clone(), self.store.run_id().to_owned());
        let taken = self.store.write(move |tx| {
            let taken = tx
                .prepare_cached(
                    "UPDATE approvals SET released_by = ?2
                     WHERE id = ?1 AND decision = 'approved' AND released_by IS ?3",
                )?
                .execute((&id, &run_id, &dead))?
                == 1;
            if !taken || !runs {
                return Ok(taken);
            }
            let sql = "UPDATE pending SET state = 'running', run_id = ?2
                 WHERE handle = (SELECT handle FROM approvals WHERE id = ?1) AND state = 'held'";
            Ok(tx.prepare_cached(sql)?.execute((&id, &run_id))? == 1)
        });
        taken.await
    }

    /// Gives back what was taken and could not be done yet.
    pub(crate) async fn give_back(&self, id: &ApprovalId) -> Result<(), StoreError> {
        let (id, run_id) = (id.clone(), self.store.run_id().to_owned());
        let given = self.store.write(move |tx| {
            let sql = "UPDATE approvals SET released_by = NULL WHERE id = ?1 AND released_by = ?2";
            tx.prepare_cached(sql)?.execute((&id, &run_id)).map(drop)
        });
        given.await
    }

    /// Makes a held call run again from now on, in this process. Returns false if it is not held any more.
    pub(crate) async fn run_again(&self, handle: &Handle) -> Result<bool, StoreError> {
        let (handle, run_id) = (handle.clone(), self.store.run_id().to_owned());
        let runs = self.store.write(move |tx| {
            let sql = "UPDATE pending SET state = 'running', run_id = ?2
                 WHERE handle = ?1 AND state = 'held'";
            tx.prepare_cached(sql)?.execute((&handle, &run_id))
        });
        Ok(runs.await? == 1)
    }

    /// Changes a held record to one whose component is polled. Returns false if it is not held.
    pub(crate) async fn wait_again(
        &self,
        handle: &Handle,
        guest_handle: String,
    ) -> Result<bool, StoreError> {
        let handle = handle.clone();
        let waits = self.store.write(move |tx| {
            let sql = "UPDATE pending SET state = 'waiting', guest_handle = ?2, run_id = NULL
                 WHERE handle = ?1 AND state IN ('held', 'running')";
            tx.prepare_cached(sql)?.execute((&handle, &guest_handle))
        });
        Ok(waits.await? == 1)
    }

    /// Returns the handles of held calls that somebody has decided about, or that have expired, with their owners.
    pub(crate) async fn decided(
        &self,
        now: SystemTime,
    ) -> Result<Vec<(Handle, Owner)>, StoreError> {
        let now_ms = unix_ms(now);
        let decided = self.store.read(move |tx| {
            let sql = format!(
                "SELECT p.handle, p.bundle, p.agent, p.instance_key
                 FROM pending p JOIN approvals a ON a.handle = p.handle
                 WHERE {IS_OPEN} AND (a.decision IS NOT NULL OR a.expires_ms <= ?1) LIMIT 1000"
            );
            let mut query = tx.prepare_cached(&sql)?;
            let rows = query.query_map((now_ms,), |row| {
                let handle: String = row.get(0)?;
                let owner = Owner {
                    bundle: row.get(1)?,
                    agent: row.get(2)?,
                    instance_key: row.get(3)?,
                };
                Ok(Handle::parse(&handle).map(|handle| (handle, owner)))
            })?;
            let rows: rusqlite::Result<Vec<_>> = rows.collect();
            Ok(rows?.into_iter().flatten().collect())
        });
        decided.await
    }

    /// Returns the staging directories of changes that wait.
    pub(crate) async fn held_staging(&self) -> Result<Vec<String>, StoreError> {
        let held = self.store.read(|tx| {
            let sql = format!(
                "SELECT a.staging FROM approvals a JOIN pending p ON p.handle = a.handle
                 WHERE a.staging IS NOT NULL AND {IS_OPEN} AND a.decision IS NOT 'denied'"
            );
            let mut query = tx.prepare_cached(&sql)?;
            query.query_map([], |row| row.get(0))?.collect()
        });
        held.await
    }
}

/// Inserts what a call waits for, unless its owner keeps too much.
fn insert(
    tx: &Transaction<'_>,
    handle: &Handle,
    hold: &NewHold,
    (now, run_id): (SystemTime, &str),
) -> rusqlite::Result<Result<(), AcceptError>> {
    let id = match random_text::<LETTERS>() {
        Ok(letters) => ApprovalId(format!("{PREFIX}{letters}")),
        Err(error) => return Ok(Err(error.into())),
    };
    let shown = hold.shown.to_string();
    let prefix = hold.prefix.as_ref().map_or(0, Vec::len) as u64;
    let bytes = hold
        .staged_bytes
        .saturating_add(prefix + shown.len() as u64);
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    let kept: i64 = tx
        .prepare_cached(
            "SELECT coalesce(sum(a.bytes), 0) FROM approvals a JOIN pending p ON p.handle = a.handle
             JOIN pending own ON own.handle = ?1
             WHERE p.state = 'held' AND (p.bundle, p.agent, p.instance_key)
                 = (own.bundle, own.agent, own.instance_key)",
        )?
        .query_row((handle,), |row| row.get(0))?;
    if kept.saturating_add(bytes) > BYTES_PER_OWNER {
        return Ok(Err(AcceptError::NoRoomForHeld));
    }
    tx.prepare_cached(
        "INSERT INTO approvals (id, handle, effect, shown, digest, bound, staging, answer, prefix, bytes,
             created_ms, expires_ms, inner_of)
         VALUES (:id, :handle, :effect, :shown, :digest, :bound, :staging, :answer, :prefix, :bytes,
             :created_ms, :expires_ms, :inner_of)",
    )?
    .execute(named_params! {
        ":id": id,
        ":handle": handle,
        ":effect": hold.effect.as_str(),
        ":shown": shown,
        ":digest": hold.digest,
        ":bound": hold.bound,
        ":staging": hold.staging,
        ":answer": hold.answer.as_ref().map(|answer| answer.to_stored().to_string()),
        ":prefix": hold.prefix,
        ":bytes": bytes,
        ":created_ms": unix_ms(now),
        ":expires_ms": unix_ms(hold.expires_at),
        ":inner_of": hold.is_inner.then_some(run_id),
    })?;
    Ok(Ok(()))
}

fn by_id(tx: &Transaction<'_>, id: &ApprovalId) -> rusqlite::Result<Option<OwnedHold>> {
    let sql = format!(
        "SELECT {COLUMNS}, p.bundle, p.agent, p.instance_key, p.call_id, p.tool_name, {IS_OPEN} AS is_open
         FROM approvals a JOIN pending p ON p.handle = a.handle WHERE a.id = ?1"
    );
    let found = tx.prepare_cached(&sql)?.query_row((id,), read_owned);
    found.optional()
}

fn read_owned(row: &Row<'_>) -> rusqlite::Result<OwnedHold> {
    Ok(OwnedHold {
        hold: read(row)?,
        owner: Owner {
            bundle: row.get("bundle")?,
            agent: row.get("agent")?,
            instance_key: row.get("instance_key")?,
        },
        call_id: row.get("call_id")?,
        tool_name: row.get("tool_name")?,
        is_open: row.get("is_open")?,
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Hold> {
    let (id, effect, shown): (String, String, String) =
        (row.get("id")?, row.get("effect")?, row.get("shown")?);
    let answer: Option<String> = row.get("answer")?;
    let answer = answer.map(|text| {
        let json: Option<Value> = serde_json::from_str(&text).ok();
        let answer = json.as_ref().and_then(ToolResult::from_stored);
        answer.ok_or_else(|| unreadable(row, "answer"))
    });
    let decision: Option<String> = row.get("decision")?;
    let decision = decision.map(|decision| -> rusqlite::Result<Decision> {
        Ok(Decision {
            is_approved: decision == "approved",
            by: row.get("decided_by")?,
            why: row.get("why")?,
            at: of_ms(row.get("decided_ms")?),
        })
    });
    let effect = HeldEffect::ALL.into_iter().find(|it| it.as_str() == effect);
    Ok(Hold {
        id: ApprovalId::parse(&id).ok_or_else(|| unreadable(row, "id"))?,
        handle: row.get("handle")?,
        effect: effect.ok_or_else(|| unreadable(row, "effect"))?,
        shown: serde_json::from_str(&shown).map_err(|_| unreadable(row, "shown"))?,
        digest: row.get("digest")?,
        bound: row.get("bound")?,
        staging: row.get("staging")?,
        answer: answer.transpose()?,
        prefix: row.get("prefix")?,
        created_at: of_ms(row.get("created_ms")?),
        expires_at: of_ms(row.get("expires_ms")?),
        decision: decision.transpose()?,
        released_by: row.get("released_by")?,
        inner_of: row.get("inner_of")?,
    })
}

fn of_ms(ms: i64) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(ms).unwrap_or_default());
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

//! Records of what calls wait to do, and of what was decided.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use toolhost_contract::{HeldEffect, ToolResult};
use toolhost_store::sql::{self, Row, ToValue, Transaction, ValueRef, named_params};
use toolhost_store::{Store, StoreError, is_random_text, random_text};

use super::records::{AcceptError, Records, is_dead, unix_ms};
use super::row::{unreadable, workdir};
use super::{CallWorkdir, Handle, NewRecord, Owner, SCHEMA};

/// Prefix of every id.
const PREFIX: &str = "approval_";

/// Random letters of an id: 160 bits.
const LETTERS: usize = 32;

/// Bytes of what is shown of an approval up to which a list has it.
const LISTED_BYTES: usize = 64 << 10;

/// Those that nobody has decided about by the time `?5`, each with its place among those of its instance.
const WAITING: &str =
    "SELECT *, row_number() OVER (PARTITION BY bundle, agent, instance_key ORDER BY number) AS nth
    FROM approvals WHERE due_ms IS NOT NULL AND decision IS NULL AND expires_ms > ?5";

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

impl ToValue for ApprovalId {
    fn to_value(&self) -> ValueRef<'_> {
        self.0.to_value()
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
    /// The address that is told that it waits.
    pub(crate) webhook: Option<String>,
}

impl NewHold {
    pub(crate) fn new(effect: HeldEffect, shown: Value, digest: String) -> Self {
        Self {
            effect,
            shown,
            digest,
            bound: String::new(),
            staging: None,
            answer: None,
            prefix: None,
            staged_bytes: 0,
            expires_at: UNIX_EPOCH,
            is_inner: false,
            webhook: None,
        }
    }
}

/// A call that something is to be done about, and the workdir that it ran in.
pub(crate) struct DueCall {
    pub(crate) id: ApprovalId,
    pub(crate) handle: Handle,
    pub(crate) owner: Owner,
    pub(crate) workdir: CallWorkdir,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) is_approved: bool,
    pub(crate) by: String,
    pub(crate) why: Option<String>,
    pub(crate) at: SystemTime,
}

impl Decision {
    pub(crate) fn as_str(&self) -> &'static str {
        if self.is_approved {
            "approved"
        } else {
            "denied"
        }
    }
}

/// What a call waits to do, as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Hold {
    pub(crate) id: ApprovalId,
    pub(crate) handle: String,
    pub(crate) effect: HeldEffect,
    pub(crate) digest: String,
    pub(crate) bound: String,
    pub(crate) staging: Option<String>,
    /// None before it is [taken](Records::take_approved).
    pub(crate) answer: Option<ToolResult>,
    /// None before it is [taken](Records::take_approved).
    pub(crate) prefix: Option<Vec<u8>>,
    pub(crate) created_at: SystemTime,
    pub(crate) expires_at: SystemTime,
    pub(crate) decision: Option<Decision>,
    /// The process that does it.
    pub(crate) released_by: Option<String>,
}

impl Hold {
    /// Consents to nothing, but lets a run come as far as the one before it.
    pub(crate) fn without_consent(self) -> Self {
        Self {
            digest: String::new(),
            ..self
        }
    }
}

/// A hold with whose call it is of.
#[derive(Debug, Clone)]
pub(crate) struct OwnedHold {
    pub(crate) hold: Hold,
    /// Null once the call was cancelled before anybody decided.
    pub(crate) shown: Value,
    pub(crate) owner: Owner,
    pub(crate) call_id: String,
    pub(crate) tool_name: String,
    /// Whether the call still waits.
    pub(crate) is_open: bool,
    /// The process in which another call waits for it.
    inner_of: Option<String>,
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

/// What becomes of a call when what was approved is taken.
#[derive(Debug, Clone)]
pub(crate) enum Taking {
    /// It is held until its changes are committed.
    Commit,
    /// It runs again in this process, and is interrupted if the process ends.
    Run,
    /// Its component is polled with this handle.
    Poll(String),
}

pub(super) const COLUMNS: &str =
    "a.number, a.id, a.handle, a.effect, a.digest, a.bound, a.staging, a.created_ms, a.expires_ms,
    a.decision, a.decided_ms, a.decided_by, a.why, a.released_by";

/// The columns of an [`OwnedHold`], but for what is shown.
pub(super) const OWNED: &str = "a.bundle, a.agent, a.instance_key, a.due_ms IS NOT NULL AS is_open, p.run_id, p.call_id, p.tool_name";

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
        let most = self.ceiling.held_bytes_per_owner;
        let is_inner = hold.is_inner;
        let Some(handle) = existing else {
            let insert_hold =
                move |tx: &Transaction<'_>, handle: &Handle| insert(tx, handle, &hold, now, most);
            let state = ("held", is_inner);
            return self.accept_with(new, now, state, insert_hold).await;
        };
        let (held, expires_ms) = (handle.clone(), unix_ms(new.expires_at));
        let message = new.call.message.as_json().to_owned();
        let stored = self.store.write(move |tx| {
            let open = "SELECT 1 FROM pending
                 WHERE handle = ?1 AND state IN ('running', 'waiting', 'held')
                     AND (run_id IS NULL OR run_id = ?2)";
            if !tx.exists(open, (&held, tx.run_id()))? {
                return Ok(Err(AcceptError::Cancelled));
            }
            // Nothing may be changed before it: a refusal is stored as well.
            if let Err(refusal) = insert(tx, &held, &hold, now, most)? {
                return Ok(Err(refusal));
            }
            let sql = "UPDATE pending
                 SET state = 'held', run_id = ?4, message = ?3,
                     expires_ms = CASE WHEN expires_ms > ?2 THEN expires_ms ELSE ?2 END
                 WHERE handle = ?1";
            tx.execute(
                sql,
                (&held, expires_ms, &message, is_inner.then(|| tx.run_id())),
            )?;
            Ok(Ok(()))
        });
        stored.await?.map(|()| handle)
    }

    /// Whether somebody has approved a call as a whole that is bound to this.
    pub(crate) async fn is_call_approved(
        &self,
        handle: &Handle,
        bound: String,
    ) -> Result<bool, StoreError> {
        let handle = handle.clone();
        let approved = self.store.read(move |tx| {
            let sql = "SELECT 1 FROM approvals
                 WHERE handle = ?1 AND effect = 'call' AND decision = 'approved' AND bound = ?2";
            tx.exists(sql, (&handle, &bound))
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
            tx.query_optional(&sql, (&handle,), read)
        });
        newest.await
    }

    /// Returns up to `most` approvals, the newest first: of one owner or of all, those that wait or all. Of those that wait,
    /// an instance has the oldest 100 in the list of all, so that none hides what others wait for.
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
                "SELECT {COLUMNS}, {OWNED}, CASE WHEN octet_length(c.shown) <= {LISTED_BYTES} THEN c.shown END AS shown
                 FROM approvals a JOIN pending p ON p.handle = a.handle
                     LEFT JOIN approval_contents c ON c.number = a.number
                 WHERE (CAST(?1 AS TEXT) IS NULL OR (a.bundle = ?1 AND a.agent = ?2 AND a.instance_key = ?3))
                     AND (NOT ?4 OR a.number IN (SELECT number FROM ({WAITING}) AS waiting WHERE CAST(?1 AS TEXT) IS NOT NULL OR nth <= 100))
                 ORDER BY a.number DESC LIMIT ?6"
            );
            let (bundle, agent, key) = columns(owner.as_ref());
            let rows = (bundle, agent, key, is_open, now_ms, most);
            let rows = tx.query_map(&sql, rows, |row| {
                let (shown, (_, one)): (Option<String>, _) = (row.get("shown")?, read_owned(row)?);
                Ok(OwnedHold {
                    shown: parse_shown(&shown.unwrap_or_default()),
                    ..with_state(tx, one)?
                })
            })?;
            let mut listed = rows;
            listed.retain(|one| !is_open || one.is_open);
            Ok(listed)
        });
        listed.await
    }

    /// Counts those that wait: of one owner or of all.
    pub(crate) async fn waiting_count(
        &self,
        owner: Option<Owner>,
        now: SystemTime,
    ) -> Result<u64, StoreError> {
        let now_ms = unix_ms(now);
        let count = self.store.read(move |tx| {
            let sql = format!(
                "SELECT p.run_id, count(*) FROM ({WAITING}) AS a JOIN pending p ON p.handle = a.handle
                 WHERE CAST(?1 AS TEXT) IS NULL OR (a.bundle = ?1 AND a.agent = ?2 AND a.instance_key = ?3)
                 GROUP BY p.run_id"
            );
            let (bundle, agent, key) = columns(owner.as_ref());
            // The fourth is used by the list alone.
            let counts = tx.query_map(&sql, (bundle, agent, key, true, now_ms), |row| {
                let (run_id, count): (Option<String>, i64) = (row.get(0)?, row.get(1)?);
                Ok(if is_dead(tx, run_id.as_deref())? {
                    0
                } else {
                    count
                })
            })?;
            Ok(counts.into_iter().sum::<i64>())
        });
        Ok(u64::try_from(count.await?).unwrap_or_default())
    }

    /// Returns an approval; none if it is not of this owner. `is_whole`: with what is shown of it.
    pub(crate) async fn hold_by_id(
        &self,
        id: &ApprovalId,
        owner: Option<Owner>,
        is_whole: bool,
    ) -> Result<Option<OwnedHold>, StoreError> {
        let id = id.clone();
        let one = self.store.read(move |tx| {
            let Some((number, mut one)) = by_id(tx, &id)? else {
                return Ok(None);
            };
            if is_whole {
                one.shown = parse_shown(&shown(tx, number)?);
            }
            with_state(tx, one).map(Some)
        });
        Ok(one
            .await?
            .filter(|one| owner.is_none_or(|owner| one.owner == owner)))
    }

    /// Returns what a call waits or waited for last, without what is shown of it; none if it is not of this owner.
    pub(crate) async fn hold_of_call(
        &self,
        handle: &Handle,
        owner: Option<Owner>,
    ) -> Result<Option<OwnedHold>, StoreError> {
        let handle = handle.clone();
        let one = self.store.read(move |tx| {
            let of_call = "a.handle = ?1 ORDER BY a.number DESC LIMIT 1";
            let one = owned(tx, of_call, &handle)?;
            one.map(|(_, one)| with_state(tx, one)).transpose()
        });
        Ok(one
            .await?
            .filter(|one| owner.is_none_or(|owner| one.owner == owner)))
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
            let found = found.map(|(_, found)| with_state(tx, found)).transpose()?;
            let is_own = |it: &OwnedHold| owner.as_ref().is_none_or(|owner| it.owner == *owner);
            let Some(found) = found.filter(is_own) else {
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
            tx.execute("UPDATE approvals SET decision = ?2, decided_ms = ?3, decided_by = ?4, why = ?5, due_ms = ?3
                 WHERE id = ?1 AND decision IS NULL AND due_ms IS NOT NULL", (
                &id,
                decision.as_str(),
                unix_ms(decision.at),
                &decision.by,
                &decision.why,
            ))?;
            let staging = found.hold.staging.filter(|_| !decision.is_approved);
            Ok(Decided::Counts { staging })
        });
        decided.await
    }

    /// Whether another process does now what was approved. What this process left undone, as the store failed, is none of
    /// that: polls of a handle wait for each other.
    pub(crate) async fn is_released_elsewhere(&self, hold: &Hold) -> Result<bool, StoreError> {
        let Some(by) = hold
            .released_by
            .clone()
            .filter(|by| **by != *self.store.run_id())
        else {
            return Ok(false);
        };
        self.store.read(move |tx| tx.is_alive(&by)).await
    }

    /// Takes what was approved, to do it in this process, and reads its answer and its prefix. None if the call does not
    /// wait for it any more, or another process has taken it since `hold` was read.
    pub(crate) async fn take_approved(
        &self,
        hold: Hold,
        taking: Taking,
    ) -> Result<Option<Hold>, StoreError> {
        let taken = self.store.write(move |tx| {
            let (id, run_id, before) = (&hold.id, tx.run_id(), &hold.released_by);
            let sql = "UPDATE approvals SET released_by = ?2
                 WHERE id = ?1 AND decision = 'approved' AND released_by IS NOT DISTINCT FROM ?3 AND due_ms IS NOT NULL";
            if tx.execute(sql, (id, run_id, before))? == 0 {
                return Ok(None);
            }
            let sql = "SELECT c.answer, c.prefix
                 FROM approval_contents c JOIN approvals a ON a.number = c.number WHERE a.id = ?1";
            let (answer, prefix) = tx.query_row(sql, (id,), read_contents)?;
            // These remove both: they are read before.
            match &taking {
                Taking::Commit => {}
                Taking::Run => {
                    let sql = "UPDATE pending SET state = 'running', run_id = ?2 WHERE handle = ?1";
                    tx.execute(sql, (&hold.handle, run_id))?;
                }
                Taking::Poll(guest_handle) => {
                    let sql = "UPDATE pending
                         SET state = 'waiting', guest_handle = ?2, run_id = NULL WHERE handle = ?1";
                    tx.execute(sql, (&hold.handle, guest_handle))?;
                }
            }
            Ok(Some(Hold {
                answer,
                prefix,
                released_by: Some(run_id.to_owned()),
                ..hold.clone()
            }))
        });
        taken.await
    }

    /// Gives back what was taken and could not be done yet.
    pub(crate) async fn give_back(&self, id: &ApprovalId) -> Result<(), StoreError> {
        let id = id.clone();
        let given = self.store.write(move |tx| {
            let sql = "UPDATE approvals SET released_by = NULL WHERE id = ?1 AND released_by = ?2";
            tx.execute(sql, (&id, tx.run_id())).map(drop)
        });
        given.await
    }

    /// Makes a held call run again from now on, in this process. Returns false if it is not held any more.
    pub(crate) async fn run_again(&self, handle: &Handle) -> Result<bool, StoreError> {
        let handle = handle.clone();
        let runs = self.store.write(move |tx| {
            let sql = "UPDATE pending SET state = 'running', run_id = ?2
                 WHERE handle = ?1 AND state = 'held'";
            tx.execute(sql, (&handle, tx.run_id()))
        });
        Ok(runs.await? == 1)
    }

    /// Returns the open approvals of an instance that somebody has decided about, or that have expired, the oldest first.
    pub(crate) async fn due(
        &self,
        owner: &Owner,
        now: SystemTime,
    ) -> Result<Vec<(ApprovalId, Handle)>, StoreError> {
        let (owner, now_ms) = (owner.clone(), unix_ms(now));
        let due = self.store.read(move |tx| {
            let sql = "SELECT id, handle FROM approvals
                 WHERE bundle = ?1 AND agent = ?2 AND instance_key = ?3 AND due_ms <= ?4
                 ORDER BY due_ms";
            let of = (&owner.bundle, &owner.agent, &owner.instance_key);
            let rows = tx.query_map(sql, (of.0, of.1, of.2, now_ms), |row| {
                let (id, handle): (String, String) = (row.get(0)?, row.get(1)?);
                Ok(ApprovalId::parse(&id).zip(Handle::parse(&handle)))
            })?;
            Ok(rows.into_iter().flatten().collect())
        });
        due.await
    }

    /// Returns up to 64 calls of a bundle that something is [due](Self::due) of, the oldest first, but for those that
    /// another call waits for.
    pub(crate) async fn due_of_bundle(
        &self,
        bundle: &str,
        now: SystemTime,
    ) -> Result<Vec<DueCall>, StoreError> {
        let (bundle, now_ms) = (bundle.to_owned(), unix_ms(now));
        let due = self.store.read(move |tx| {
            let sql = "SELECT a.id, a.handle, a.bundle, a.agent, a.instance_key, p.workdir, p.workdir_inode
                 FROM approvals a JOIN pending p ON p.handle = a.handle
                 WHERE a.bundle = ?1 AND a.due_ms <= ?2 AND p.run_id IS NULL
                 ORDER BY a.due_ms LIMIT 64";
            let rows = tx.query_map(sql, (&bundle, now_ms), |row| {
                let (id, handle): (String, String) = (row.get("id")?, row.get("handle")?);
                let known = ApprovalId::parse(&id).zip(Handle::parse(&handle));
                let owner = Owner {
                    bundle: row.get("bundle")?,
                    agent: row.get("agent")?,
                    instance_key: row.get("instance_key")?,
                };
                Ok(known
                    .zip(workdir(row)?)
                    .map(|((id, handle), workdir)| DueCall {
                        id,
                        handle,
                        owner,
                        workdir,
                    }))
            })?;
            Ok(rows.into_iter().flatten().collect())
        });
        due.await
    }

    /// Returns those of these owners that have something [due](Self::due).
    pub(crate) async fn owners_due(
        &self,
        owners: Vec<Owner>,
        now: SystemTime,
    ) -> Result<Vec<Owner>, StoreError> {
        let now_ms = unix_ms(now);
        let due = self.store.read(move |tx| {
            let sql =
                "SELECT DISTINCT bundle, agent, instance_key FROM approvals WHERE due_ms <= ?1";
            let due = tx.query_map(sql, (now_ms,), |row| {
                Ok(Owner {
                    bundle: row.get(0)?,
                    agent: row.get(1)?,
                    instance_key: row.get(2)?,
                })
            })?;
            let due: HashSet<Owner> = due.into_iter().collect();
            let owners = owners.iter().filter(|owner| due.contains(*owner));
            Ok(owners.cloned().collect())
        });
        due.await
    }

    /// Whether a call of the owner waits, or has been decided about and has not been released.
    pub(crate) async fn has_open(&self, owner: &Owner) -> Result<bool, StoreError> {
        let owner = owner.clone();
        let open = self.store.read(move |tx| is_open(tx, &owner, i64::MAX));
        open.await
    }

    /// Returns the staging directories of changes that wait.
    pub(crate) async fn held_staging(&self) -> Result<HashSet<String>, StoreError> {
        self.store.read(held_staging).await
    }

    /// Returns those of the file of SQLite of a state root; none where there is no file. Blocks.
    pub(crate) fn local_staging(state_root: &Path) -> Result<HashSet<String>, StoreError> {
        let held = Store::read_local(state_root, &SCHEMA, held_staging)?;
        Ok(held.unwrap_or_default())
    }
}

fn held_staging(tx: &Transaction<'_>) -> sql::Result<HashSet<String>> {
    let sql = "SELECT staging FROM approvals
         WHERE staging IS NOT NULL AND due_ms IS NOT NULL AND decision IS DISTINCT FROM 'denied'";
    Ok(tx
        .query_map(sql, (), |row| row.get(0))?
        .into_iter()
        .collect())
}

/// A call whose process has ended that waited for it waits no longer.
fn with_state(tx: &Transaction<'_>, one: OwnedHold) -> sql::Result<OwnedHold> {
    let is_open = one.is_open && !is_dead(tx, one.inner_of.as_deref())?;
    Ok(OwnedHold { is_open, ..one })
}

/// Returns what the columns of an owner's rows have.
fn columns(owner: Option<&Owner>) -> (Option<&str>, Option<&str>, Option<&str>) {
    (
        owner.map(|it| it.bundle.as_str()),
        owner.map(|it| it.agent.as_str()),
        owner.map(|it| it.instance_key.as_str()),
    )
}

/// Whether the owner has an open approval that is due by then.
fn is_open(tx: &Transaction<'_>, owner: &Owner, due_ms: i64) -> sql::Result<bool> {
    let sql = "SELECT 1 FROM approvals
         WHERE bundle = ?1 AND agent = ?2 AND instance_key = ?3 AND due_ms <= ?4";
    let of = (&owner.bundle, &owner.agent, &owner.instance_key);
    tx.exists(sql, (of.0, of.1, of.2, due_ms))
}

/// Inserts what a call waits for, unless its owner keeps too much: then nothing is changed.
fn insert(
    tx: &Transaction<'_>,
    handle: &Handle,
    hold: &NewHold,
    now: SystemTime,
    most: i64,
) -> sql::Result<Result<(), AcceptError>> {
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
    let sql =
        "SELECT CAST(coalesce(sum(a.bytes), 0) AS BIGINT) FROM approvals a JOIN pending own ON own.handle = ?1
         WHERE (a.bundle, a.agent, a.instance_key) = (own.bundle, own.agent, own.instance_key)
             AND a.due_ms IS NOT NULL AND a.handle <> ?1";
    let kept: i64 = tx.query_row(sql, (handle,), |row| row.get(0))?;
    if kept.saturating_add(bytes) > most {
        return Ok(Err(AcceptError::NoRoomForHeld));
    }
    tx.execute("INSERT INTO approvals (id, handle, bundle, agent, instance_key, effect, digest, bound, staging, bytes,
             created_ms, expires_ms, due_ms)
         SELECT :id, handle, bundle, agent, instance_key, :effect, :digest, :bound, :staging, :bytes,
             :created_ms, :expires_ms, :expires_ms
         FROM pending WHERE handle = :handle", named_params! {
        ":id": &id,
        ":handle": handle,
        ":effect": hold.effect.as_str(),
        ":digest": hold.digest,
        ":bound": hold.bound,
        ":staging": hold.staging,
        ":bytes": bytes,
        ":created_ms": unix_ms(now),
        ":expires_ms": unix_ms(hold.expires_at),
    })?;
    let answer = hold.answer.as_ref();
    let answer = answer.map(|answer| answer.to_stored().to_string());
    let sql = "INSERT INTO approval_contents (number, shown, answer, prefix)
         SELECT number, ?2, ?3, ?4 FROM approvals WHERE id = ?1";
    tx.execute(sql, (&id, shown, answer, &hold.prefix))?;
    if let Some(url) = &hold.webhook {
        let sql = "INSERT INTO approval_notices (number, event, url, next_ms, until_ms)
             SELECT number, 'waiting', ?2, created_ms, expires_ms FROM approvals WHERE id = ?1";
        tx.execute(sql, (&id, url))?;
    }
    Ok(Ok(()))
}

fn by_id(tx: &Transaction<'_>, id: &ApprovalId) -> sql::Result<Option<(i64, OwnedHold)>> {
    owned(tx, "a.id = ?1", id)
}

/// Returns the first approval for which a condition holds, without what is shown of it.
fn owned(
    tx: &Transaction<'_>,
    condition: &str,
    value: impl ToValue,
) -> sql::Result<Option<(i64, OwnedHold)>> {
    let sql = format!(
        "SELECT {COLUMNS}, {OWNED}
         FROM approvals a JOIN pending p ON p.handle = a.handle WHERE {condition}"
    );
    tx.query_optional(&sql, (value,), read_owned)
}

/// Returns what is shown of an approval, as JSON text; an empty text if it was removed.
fn shown(tx: &Transaction<'_>, number: i64) -> sql::Result<String> {
    let sql = "SELECT shown FROM approval_contents WHERE number = ?1";
    let shown = tx.query_optional(sql, (number,), |row| row.get(0))?;
    Ok(shown.unwrap_or_default())
}

fn parse_shown(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Reads the number of an approval, and all of it but what is shown.
pub(super) fn read_owned(row: &Row<'_>) -> sql::Result<(i64, OwnedHold)> {
    let owned = OwnedHold {
        hold: read(row)?,
        shown: Value::Null,
        owner: Owner {
            bundle: row.get("bundle")?,
            agent: row.get("agent")?,
            instance_key: row.get("instance_key")?,
        },
        call_id: row.get("call_id")?,
        tool_name: row.get("tool_name")?,
        is_open: row.get("is_open")?,
        inner_of: row.get("run_id")?,
    };
    Ok((row.get("number")?, owned))
}

fn read_contents(row: &Row<'_>) -> sql::Result<(Option<ToolResult>, Option<Vec<u8>>)> {
    let answer: Option<String> = row.get("answer")?;
    let answer = answer.map(|text| {
        let json: Option<Value> = serde_json::from_str(&text).ok();
        let answer = json.as_ref().and_then(ToolResult::from_stored);
        answer.ok_or_else(|| unreadable("answer"))
    });
    Ok((answer.transpose()?, row.get("prefix")?))
}

fn read(row: &Row<'_>) -> sql::Result<Hold> {
    let (id, effect): (String, String) = (row.get("id")?, row.get("effect")?);
    let decision: Option<String> = row.get("decision")?;
    let decision = decision.map(|decision| -> sql::Result<Decision> {
        Ok(Decision {
            is_approved: decision == "approved",
            by: row.get("decided_by")?,
            why: row.get("why")?,
            at: of_ms(row.get("decided_ms")?),
        })
    });
    let effect = HeldEffect::ALL.into_iter().find(|it| it.as_str() == effect);
    Ok(Hold {
        id: ApprovalId::parse(&id).ok_or_else(|| unreadable("id"))?,
        handle: row.get("handle")?,
        effect: effect.ok_or_else(|| unreadable("effect"))?,
        digest: row.get("digest")?,
        bound: row.get("bound")?,
        staging: row.get("staging")?,
        answer: None,
        prefix: None,
        created_at: of_ms(row.get("created_ms")?),
        expires_at: of_ms(row.get("expires_ms")?),
        decision: decision.transpose()?,
        released_by: row.get("released_by")?,
    })
}

pub(super) fn of_ms(ms: i64) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(ms).unwrap_or_default());
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

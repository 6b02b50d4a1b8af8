//! Operations on the records in a store.

use std::time::{SystemTime, UNIX_EPOCH};

use toolhost_contract::{Locale, ToolError, ToolErrorCode, ToolResult};
use toolhost_store::sql::{self, Transaction};
use toolhost_store::{Store, StoreError};

use super::row::{self, JSON_DEPTH_MAX, storable};
use super::{Handle, NewRecord, Owner, Record, State};

/// Most open records of one owner.
const OPEN_PER_OWNER: u32 = 10_000;

/// Most bytes of messages and results of one owner: 256 results of the default limit. Checked when a
/// call is accepted, so the results of open calls may exceed it.
const BYTES_PER_OWNER: i64 = 256 << 20;

/// Most bytes that the waiting calls of one owner keep: staged files, what is shown of them, and what their runs have
/// received.
const HELD_BYTES_PER_OWNER: i64 = 1 << 30;

/// Most bytes of all records of a state root.
const BYTES_IN_TOTAL: i64 = 4 << 30;

/// Pages freed in one transaction.
const VACUUM_PAGES: u32 = 10_000;

/// Records ended or removed in one transaction. Small, because other processes wait for the lock.
const BATCH: u32 = 500;

/// Why a pending call cannot be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum AcceptError {
    #[error("{ceiling} calls are already pending, the limit")]
    Full { ceiling: u32 },
    #[error("the stored messages and results of pending calls have reached their size limit")]
    NoRoom,
    #[error("the calls that wait for approval keep as much as they may")]
    NoRoomForHeld,
    #[error("the call was cancelled")]
    Cancelled,
    #[error("the message contains no tool call '{call_id}'")]
    MessageOfAnotherCall { call_id: String },
    #[error("the message is nested {depth} deep; the limit is {JSON_DEPTH_MAX}")]
    MessageTooDeep { depth: usize },
    #[error("the operating system returned no random bytes")]
    Random(#[from] getrandom::Error),
    #[error("the record cannot be stored")]
    Store(#[from] StoreError),
}

/// What became of a cancellation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CancelReply {
    /// The record was open as it is here, and is cancelled.
    Now(Record),
    /// The record is as it is here, and is not changed.
    TooLate(Record),
}

/// Limits of the stored records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ceiling {
    open_per_owner: u32,
    bytes_per_owner: i64,
    pub(super) held_bytes_per_owner: i64,
    bytes_in_total: i64,
}

/// The records of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    pub(super) store: Store,
    pub(super) ceiling: Ceiling,
    pub(super) locale: Locale,
}

impl Records {
    /// Opens the records of `store`. `locale` is the language of results that the host creates.
    pub(crate) fn new(store: Store, locale: Locale) -> Self {
        Self {
            store,
            ceiling: Ceiling {
                open_per_owner: OPEN_PER_OWNER,
                bytes_per_owner: BYTES_PER_OWNER,
                held_bytes_per_owner: HELD_BYTES_PER_OWNER,
                bytes_in_total: BYTES_IN_TOTAL,
            },
            locale,
        }
    }

    /// Sets the most open records of one owner. Default: 10,000.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_ceiling(mut self, open_per_owner: u32) -> Self {
        self.ceiling.open_per_owner = open_per_owner;
        self
    }

    /// Sets the most bytes of the records of one owner and of all owners.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_bytes(mut self, per_owner: i64, in_total: i64) -> Self {
        self.ceiling.bytes_per_owner = per_owner;
        self.ceiling.bytes_in_total = in_total;
        self
    }

    /// Sets the most bytes that the waiting calls of one owner keep.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_held_bytes(mut self, per_owner: i64) -> Self {
        self.ceiling.held_bytes_per_owner = per_owner;
        self
    }

    /// Stores a record and returns its handle. The stored record survives the process.
    ///
    /// # Errors
    /// [`AcceptError`] if a limit is reached or the store fails.
    pub(crate) async fn accept(
        &self,
        new: NewRecord,
        now: SystemTime,
    ) -> Result<Handle, AcceptError> {
        let state = if new.guest_handle.is_some() {
            "waiting"
        } else {
            "running"
        };
        let is_own = state == "running";
        self.accept_with(new, now, (state, is_own), |_, _| Ok(Ok(())))
            .await
    }

    /// Stores a record in this state, with what `more` adds in the same transaction. `is_own`: it ends with this process.
    pub(super) async fn accept_with(
        &self,
        new: NewRecord,
        now: SystemTime,
        (state, is_own): (&'static str, bool),
        more: impl Fn(&Transaction<'_>, &Handle) -> sql::Result<Result<(), AcceptError>>
        + Send
        + 'static,
    ) -> Result<Handle, AcceptError> {
        let depth = new.call.message.depth();
        if depth > JSON_DEPTH_MAX {
            return Err(AcceptError::MessageTooDeep { depth });
        }
        if !new.call.message.contains_call(&new.call.call_id) {
            let call_id = new.call.call_id;
            return Err(AcceptError::MessageOfAnotherCall { call_id });
        }
        let handle = Handle::random()?;
        let inserted = handle.clone();
        let (ceiling, now_ms, expires_ms) = (self.ceiling, unix_ms(now), unix_ms(new.expires_at));
        let stored = self.store.write(move |tx| {
            let (owner, most) = (&new.owner, ceiling.open_per_owner);
            if count_open(tx, owner, now_ms, most)? >= most {
                return Ok(Err(AcceptError::Full { ceiling: most }));
            }
            while !is_within_bytes(tx, owner, ceiling)? {
                if sweep_some(tx, now_ms)? == 0 {
                    return Ok(Err(AcceptError::NoRoom));
                }
            }
            let run_id = is_own.then(|| tx.run_id());
            row::insert(tx, &inserted, &new, (state, run_id), (now_ms, expires_ms))?;
            let added = more(tx, &inserted)?;
            if added.is_err() {
                tx.execute("DELETE FROM pending WHERE handle = ?1", (&inserted,))?;
            }
            Ok(added)
        });
        stored.await?.map(|()| handle)
    }

    /// Returns whether a record is running in this process.
    pub(crate) fn is_own_running(&self, record: &Record) -> bool {
        matches!(&record.state, State::Running { run_id } if **run_id == *self.store.run_id())
    }

    /// Returns whether a record is running, or waited for, in a dead process.
    fn is_left_behind(tx: &Transaction<'_>, record: &Record) -> sql::Result<bool> {
        match &record.state {
            State::Running { run_id } => Ok(!tx.is_alive(run_id)?),
            State::Held { inner_of, .. } => is_dead(tx, inner_of.as_deref()),
            State::Waiting { .. } | State::Done(_) | State::Cancelled => Ok(false),
        }
    }

    /// Finds a record of an owner that has not expired. A record whose process died is returned as done
    /// with the interrupted result.
    pub(crate) async fn find(
        &self,
        handle: &Handle,
        owner: &Owner,
        now: SystemTime,
    ) -> Result<Option<Record>, StoreError> {
        let record = match self.find_stored(handle, owner, now).await? {
            None => return Ok(None),
            Some((record, is_left_behind)) if !is_left_behind => return Ok(Some(record)),
            Some(_) => self.find_stored(handle, owner, now).await?,
        };
        // The process may have recorded the result and exited after the first read. The second read
        // returned its last write.
        Ok(record.map(|(mut record, is_left_behind)| {
            if is_left_behind {
                record.state = State::Done(Box::new(interrupted(&record, self.locale)));
            }
            record
        }))
    }

    /// Replaces the handle for polling the component, or stores it before a call that runs waits for it. Returns false if the
    /// record neither waits nor runs.
    pub(crate) async fn renew_guest_handle(
        &self,
        handle: &Handle,
        guest_handle: String,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE pending SET guest_handle = ?2
             WHERE handle = ?1 AND state IN ('waiting', 'running') AND (run_id IS NULL OR run_id = ?3)";
        self.set_guest_handle(sql, handle, guest_handle).await
    }

    /// Changes a running or held record to one whose component is polled. Returns false if it is neither.
    pub(crate) async fn wait_for_guest(
        &self,
        handle: &Handle,
        guest_handle: String,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE pending SET state = 'waiting', guest_handle = ?2, run_id = NULL
             WHERE handle = ?1 AND state IN ('running', 'held') AND (run_id IS NULL OR run_id = ?3)";
        self.set_guest_handle(sql, handle, guest_handle).await
    }

    /// Runs a statement that changes the record of a handle. Returns whether it did.
    async fn set_guest_handle(
        &self,
        sql: &'static str,
        handle: &Handle,
        guest_handle: String,
    ) -> Result<bool, StoreError> {
        let handle = handle.clone();
        let set = self
            .store
            .write(move |tx| tx.execute(sql, (&handle, &guest_handle, tx.run_id())));
        Ok(set.await? == 1)
    }

    /// Ends an open record with `result`, which must not be pending. Returns false, without a change, if
    /// the record has already ended or been removed, or another run of the store owns it.
    pub(crate) async fn complete(
        &self,
        handle: &Handle,
        result: &ToolResult,
    ) -> Result<bool, StoreError> {
        let handle = handle.clone();
        let result = storable(result, self.locale);
        let write = self
            .store
            .write(move |tx| row::end(tx, &handle, &result, tx.run_id()));
        write.await
    }

    /// Cancels an open record. One that has ended stays unchanged, and so does one that is being released: what was
    /// approved is done already, or about to be. Returns `None` if the owner has no such record.
    pub(crate) async fn cancel(
        &self,
        handle: &Handle,
        owner: &Owner,
        now: SystemTime,
    ) -> Result<Option<CancelReply>, StoreError> {
        // `find` returns a record whose process died as done, also if it is stored as running.
        let found = self.find(handle, owner, now).await?;
        if !found.as_ref().is_some_and(|record| record.state.is_open()) {
            return Ok(found.map(CancelReply::TooLate));
        }
        let (handle, owner, now_ms) = (handle.clone(), owner.clone(), unix_ms(now));
        let cancelled = self.store.write(move |tx| {
            let Some(was) = row::find(tx, &handle, &owner, now_ms)? else {
                return Ok(None);
            };
            let sql = "UPDATE pending SET state = 'cancelled', message = ''
                 WHERE handle = ?1 AND state IN ('running', 'waiting', 'held')
                     AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.handle = pending.handle
                         AND a.due_ms IS NOT NULL AND a.released_by IS NOT NULL)";
            let is_cancelled = tx.execute(sql, (&handle,))? == 1;
            Ok(Some(if is_cancelled {
                CancelReply::Now(was)
            } else {
                CancelReply::TooLate(was)
            }))
        });
        cancelled.await
    }

    /// Removes expired records and returns their number. A running record is kept until it has ended, so
    /// that its end is reported.
    pub(crate) async fn sweep(&self, now: SystemTime) -> Result<usize, StoreError> {
        let now_ms = unix_ms(now);
        let mut removed = 0;
        loop {
            let some = self.store.write(move |tx| sweep_some(tx, now_ms));
            match some.await? {
                0 => return Ok(removed),
                some => removed += some,
            }
        }
    }

    /// Ends the running records of dead processes with `E_TOOL_INTERRUPTED` and returns them. Each
    /// record is returned once, to one of the processes that call this. Not cancel-safe: records ended
    /// by a dropped future are not returned again.
    pub(crate) async fn interrupt_dead_runs(&self) -> Result<Vec<Record>, StoreError> {
        let mut interrupted = Vec::new();
        for run_id in self.store.read(dead_runs).await? {
            loop {
                let (run_id, locale) = (run_id.clone(), self.locale);
                let some = self
                    .store
                    .write(move |tx| interrupt_some(tx, &run_id, locale));
                match some.await {
                    Ok(some) if some.is_empty() => break,
                    Ok(some) => interrupted.extend(some),
                    Err(error) if interrupted.is_empty() => return Err(error),
                    // The next call ends the rest.
                    Err(error) => {
                        let error = error.with_causes();
                        tracing::warn!(%error, "cannot end all interrupted calls; the rest is tried again later");
                        return Ok(interrupted);
                    }
                }
            }
        }
        Ok(interrupted)
    }

    /// Counts the open records of an owner that have not expired.
    #[cfg(test)]
    pub(crate) async fn count_open(
        &self,
        owner: &Owner,
        now: SystemTime,
    ) -> Result<u32, StoreError> {
        let (owner, now_ms) = (owner.clone(), unix_ms(now));
        self.store
            .read(move |tx| count_open(tx, &owner, now_ms, u32::MAX))
            .await
    }

    async fn find_stored(
        &self,
        handle: &Handle,
        owner: &Owner,
        now: SystemTime,
    ) -> Result<Option<(Record, bool)>, StoreError> {
        let (handle, owner, now_ms) = (handle.clone(), owner.clone(), unix_ms(now));
        let record = self.store.read(move |tx| {
            let Some(record) = row::find(tx, &handle, &owner, now_ms)? else {
                return Ok(None);
            };
            let is_left_behind = Self::is_left_behind(tx, &record)?;
            Ok(Some((record, is_left_behind)))
        });
        record.await
    }
}

fn is_within_bytes(tx: &Transaction<'_>, owner: &Owner, ceiling: Ceiling) -> sql::Result<bool> {
    let (own, all): (i64, i64) = tx.query_row(
        "SELECT
                 CAST(coalesce(sum(bytes) FILTER
                     (WHERE bundle = ?1 AND agent = ?2 AND instance_key = ?3), 0) AS BIGINT),
                 CAST(coalesce(sum(bytes), 0) AS BIGINT)
             FROM pending_bytes",
        (&owner.bundle, &owner.agent, &owner.instance_key),
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    Ok(own < ceiling.bytes_per_owner && all < ceiling.bytes_in_total)
}

/// Removes one batch of expired records, frees their pages and returns their number.
fn sweep_some(tx: &Transaction<'_>, now_ms: i64) -> sql::Result<usize> {
    let removed = tx.execute(
        "DELETE FROM pending WHERE handle IN (
                 SELECT handle FROM pending WHERE expires_ms <= ?1 AND state <> 'running' LIMIT ?2
             )",
        (now_ms, BATCH),
    )?;
    if removed > 0 {
        tx.free_pages(VACUUM_PAGES)?;
    }
    Ok(removed)
}

/// Counts an owner's open records, up to `most`.
fn count_open(tx: &Transaction<'_>, owner: &Owner, now_ms: i64, most: u32) -> sql::Result<u32> {
    tx.query_row(
        "SELECT count(*) FROM (
             SELECT 1 FROM pending
             WHERE bundle = ?1 AND agent = ?2 AND instance_key = ?3
                 AND expires_ms > ?4 AND state IN ('running', 'waiting', 'held')
             LIMIT ?5
         ) AS open",
        (
            &owner.bundle,
            &owner.agent,
            &owner.instance_key,
            now_ms,
            most,
        ),
        |row| row.get(0),
    )
}

/// Returns the runs that have ended and left records open.
fn dead_runs(tx: &Transaction<'_>) -> sql::Result<Vec<String>> {
    let sql = "SELECT DISTINCT run_id FROM pending
         WHERE state IN ('running', 'held') AND run_id IS NOT NULL";
    let mut dead = Vec::new();
    for run_id in tx.query_map(sql, (), |row| row.get::<String>(0))? {
        if !tx.is_alive(&run_id)? {
            dead.push(run_id);
        }
    }
    Ok(dead)
}

/// Whether this is a process that has ended.
pub(super) fn is_dead(tx: &Transaction<'_>, run_id: Option<&str>) -> sql::Result<bool> {
    match run_id {
        Some(by) if by != tx.run_id() => Ok(!tx.is_alive(by)?),
        Some(_) | None => Ok(false),
    }
}

/// Ends one batch of the records of a dead run. Returns none if none are left.
fn interrupt_some(tx: &Transaction<'_>, run_id: &str, locale: Locale) -> sql::Result<Vec<Record>> {
    let mut records = row::running(tx, run_id, BATCH)?;
    for record in &mut records {
        let result = interrupted(record, locale);
        row::end(tx, &record.handle, &storable(&result, locale), run_id)?;
        record.state = State::Done(Box::new(result));
    }
    Ok(records)
}

/// Returns the result of a call whose process died.
fn interrupted(record: &Record, locale: Locale) -> ToolResult {
    let (call_id, tool_name) = (&record.call.call_id, &record.call.tool_name);
    let message = format!("Tool '{tool_name}' was interrupted: the host stopped while it ran.");
    let error = ToolError::host(ToolErrorCode::Interrupted, message, locale);
    ToolResult::error(call_id, tool_name, error)
}

/// Converts to Unix milliseconds; 0 for earlier times.
pub(super) fn unix_ms(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

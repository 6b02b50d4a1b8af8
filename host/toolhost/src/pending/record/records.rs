//! Operations on the records in a store.

use std::time::{SystemTime, UNIX_EPOCH};

use toolhost_contract::{Locale, ToolResult};
use toolhost_store::rusqlite::{self, Transaction, named_params};
use toolhost_store::{Store, StoreError};

use super::results::{BATCH, JSON_DEPTH_MAX, interrupted, storable};
use super::{Handle, NewRecord, NewSource, Owner, Record, Source, State, row};

/// Most open records of one owner.
const OPEN_PER_OWNER: u32 = 10_000;

/// Most bytes of messages and results of one owner: 256 results of the default limit. Checked when a
/// call is accepted, so the results of open calls may exceed it.
const BYTES_PER_OWNER: i64 = 256 << 20;

/// Most bytes of all records of a state root.
const BYTES_IN_TOTAL: i64 = 4 << 30;

/// Pages freed in one transaction.
const VACUUM_PAGES: u32 = 10_000;

/// A pending call that cannot be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum AcceptError {
    /// The owner has too many open records.
    #[error("{ceiling} calls are already pending, the limit")]
    Full {
        /// Most open records of an owner.
        ceiling: u32,
    },
    /// The stored messages and results have reached their limit.
    #[error("the stored messages and results of pending calls have reached their size limit")]
    NoRoom,
    /// The message does not contain the call.
    #[error("the message contains no tool call '{call_id}'")]
    MessageOfAnotherCall {
        /// Id of the call.
        call_id: String,
    },
    /// The message is nested too deep to be parsed again.
    #[error("the message is nested {depth} deep; the limit is {JSON_DEPTH_MAX}")]
    MessageTooDeep {
        /// Nesting of the message.
        depth: usize,
    },
    /// The operating system returned no random bytes.
    #[error("the operating system returned no random bytes")]
    Random(#[from] getrandom::Error),
    /// The record was not stored.
    #[error("the record cannot be stored")]
    Store(#[from] StoreError),
}

/// Limits of the stored records.
#[derive(Debug, Clone, Copy)]
struct Ceiling {
    open_per_owner: u32,
    bytes_per_owner: i64,
    bytes_in_total: i64,
}

/// The records of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    pub(super) store: Store,
    ceiling: Ceiling,
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

    /// Stores a record and returns its handle. The stored record survives the process.
    ///
    /// # Errors
    /// [`AcceptError`] if a limit is reached or the store fails.
    pub(crate) async fn accept(
        &self,
        new: NewRecord,
        now: SystemTime,
    ) -> Result<Handle, AcceptError> {
        let depth = new.call.message.depth();
        if depth > JSON_DEPTH_MAX {
            return Err(AcceptError::MessageTooDeep { depth });
        }
        if !new.call.message.holds(&new.call.call_id) {
            let call_id = new.call.call_id;
            return Err(AcceptError::MessageOfAnotherCall { call_id });
        }
        let handle = Handle::random()?;
        let (source, state) = match new.source {
            NewSource::Guest { guest_handle } => (Source::Guest { guest_handle }, State::Waiting),
            NewSource::Background => {
                let run_id = self.store.run_id().to_owned();
                (Source::Background { run_id }, State::Running)
            }
        };
        let record = Record {
            handle: handle.clone(),
            owner: new.owner,
            call: new.call,
            source,
            state,
            created_ms: unix_ms(now),
            expires_ms: unix_ms(new.expires_at),
        };
        let ceiling = self.ceiling;
        let stored = self.store.write(move |tx| {
            let (owner, now_ms, most) = (&record.owner, record.created_ms, ceiling.open_per_owner);
            if count_open(tx, owner, now_ms, most)? >= most {
                return Ok(Err(AcceptError::Full { ceiling: most }));
            }
            while !is_within_bytes(tx, owner, ceiling)? {
                if sweep_some(tx, now_ms)? == 0 {
                    return Ok(Err(AcceptError::NoRoom));
                }
            }
            row::insert(tx, &record)?;
            Ok(Ok(()))
        });
        stored.await?.map(|()| handle)
    }

    /// Returns whether a record is running in this process.
    pub(crate) fn is_own_running(&self, record: &Record) -> bool {
        let Source::Background { run_id } = &record.source else {
            return false;
        };
        matches!(record.state, State::Running) && run_id == self.store.run_id()
    }

    /// Finds a record of an owner that has not expired. A record whose process died is returned as done
    /// with the interrupted result.
    pub(crate) async fn find(
        &self,
        handle: &Handle,
        owner: &Owner,
        now: SystemTime,
    ) -> Result<Option<Record>, StoreError> {
        let Some(record) = self.find_stored(handle, owner, now).await? else {
            return Ok(None);
        };
        if !self.is_left_behind(&record) {
            return Ok(Some(record));
        }
        // The process may have recorded the result and exited after the first read. The second read
        // returns its last write.
        let mut record = self.find_stored(handle, owner, now).await?;
        if let Some(record) = record.as_mut().filter(|record| self.is_left_behind(record)) {
            record.state = State::Done(Box::new(interrupted(record, self.locale)));
        }
        Ok(record)
    }

    /// Replaces the handle for polling the component. Returns false if the record is not waiting.
    pub(crate) async fn renew_guest_handle(
        &self,
        handle: &Handle,
        guest_handle: String,
    ) -> Result<bool, StoreError> {
        let handle = handle.clone();
        let renewed = self.store.write(move |tx| {
            tx.prepare_cached(
                "UPDATE pending SET guest_handle = :guest_handle
                 WHERE handle = :handle AND state = 'waiting'",
            )?
            .execute(named_params! {":handle": handle, ":guest_handle": guest_handle})
        });
        Ok(renewed.await? == 1)
    }

    /// Changes a running record to one whose component is polled. Returns false if it is not running.
    pub(crate) async fn wait_for_guest(
        &self,
        handle: &Handle,
        guest_handle: String,
    ) -> Result<bool, StoreError> {
        let handle = handle.clone();
        let waits = self.store.write(move |tx| {
            tx.prepare_cached(
                "UPDATE pending SET state = 'waiting', guest_handle = :guest_handle, run_id = NULL
                 WHERE handle = :handle AND state = 'running'",
            )?
            .execute(named_params! {":handle": handle, ":guest_handle": guest_handle})
        });
        Ok(waits.await? == 1)
    }

    /// Ends an open record with `result`, which must not be pending. Returns false, without a change, if
    /// the record has already ended or been removed.
    pub(crate) async fn complete(
        &self,
        handle: &Handle,
        result: &ToolResult,
    ) -> Result<bool, StoreError> {
        let handle = handle.clone();
        let result = storable(result, self.locale);
        let ended = self.store.write(move |tx| row::end(tx, &handle, &result));
        ended.await
    }

    /// Cancels an open record and returns it as it was before. A record that has ended stays unchanged.
    /// Returns `None` if the owner has no such record.
    pub(crate) async fn cancel(
        &self,
        handle: &Handle,
        owner: &Owner,
        now: SystemTime,
    ) -> Result<Option<Record>, StoreError> {
        // `find` returns a record whose process died as done, also if it is stored as running.
        let found = self.find(handle, owner, now).await?;
        if !found.as_ref().is_some_and(|record| record.state.is_open()) {
            return Ok(found);
        }
        let (handle, owner, now_ms) = (handle.clone(), owner.clone(), unix_ms(now));
        let cancelled = self.store.write(move |tx| {
            let was = row::find(tx, &handle, &owner, now_ms)?;
            tx.prepare_cached(
                "UPDATE pending SET state = 'cancelled', message = ''
                 WHERE handle = :handle AND bundle = :bundle AND agent = :agent
                     AND instance_key = :instance_key AND expires_ms > :now
                     AND state IN ('running', 'waiting')",
            )?
            .execute(named_params! {
                ":handle": handle,
                ":bundle": owner.bundle,
                ":agent": owner.agent,
                ":instance_key": owner.instance_key,
                ":now": now_ms,
            })?;
            Ok(was)
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
    ) -> Result<Option<Record>, StoreError> {
        let (handle, owner, now_ms) = (handle.clone(), owner.clone(), unix_ms(now));
        self.store
            .read(move |tx| row::find(tx, &handle, &owner, now_ms))
            .await
    }
}

/// Returns whether the stored bytes are within the limits.
fn is_within_bytes(
    tx: &Transaction<'_>,
    owner: &Owner,
    ceiling: Ceiling,
) -> rusqlite::Result<bool> {
    let (own, all): (i64, i64) = tx
        .prepare_cached(
            "SELECT
                 coalesce(sum(bytes) FILTER (WHERE bundle = :bundle AND agent = :agent
                     AND instance_key = :instance_key), 0),
                 coalesce(sum(bytes), 0)
             FROM pending_bytes",
        )?
        .query_row(
            named_params! {
                ":bundle": owner.bundle,
                ":agent": owner.agent,
                ":instance_key": owner.instance_key,
            },
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
    Ok(own < ceiling.bytes_per_owner && all < ceiling.bytes_in_total)
}

/// Removes one batch of expired records, frees their pages and returns their number.
fn sweep_some(tx: &Transaction<'_>, now_ms: i64) -> rusqlite::Result<usize> {
    let removed = tx
        .prepare_cached(
            "DELETE FROM pending WHERE rowid IN (
                 SELECT rowid FROM pending
                 WHERE expires_ms <= :now AND state <> 'running' LIMIT :batch
             )",
        )?
        .execute(named_params! {":now": now_ms, ":batch": BATCH})?;
    if removed > 0 {
        tx.pragma(None, "incremental_vacuum", VACUUM_PAGES, |_| Ok(()))?;
    }
    Ok(removed)
}

/// Counts an owner's open records, up to `most`.
fn count_open(
    tx: &Transaction<'_>,
    owner: &Owner,
    now_ms: i64,
    most: u32,
) -> rusqlite::Result<u32> {
    tx.prepare_cached(
        "SELECT count(*) FROM (
             SELECT 1 FROM pending
             WHERE bundle = :bundle AND agent = :agent AND instance_key = :instance_key
                 AND expires_ms > :now AND state IN ('running', 'waiting')
             LIMIT :most
         )",
    )?
    .query_row(
        named_params! {
            ":bundle": owner.bundle,
            ":agent": owner.agent,
            ":instance_key": owner.instance_key,
            ":now": now_ms,
            ":most": most,
        },
        |row| row.get(0),
    )
}

/// Converts to Unix milliseconds; 0 for earlier times.
fn unix_ms(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

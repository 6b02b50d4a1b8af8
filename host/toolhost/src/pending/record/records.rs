//! The records in a store, and what may become of one.

use std::time::{SystemTime, UNIX_EPOCH};

use toolhost_contract::{Locale, ToolResult};
use toolhost_store::rusqlite::{self, Transaction, named_params};

use super::results::{BATCH, JSON_DEPTH_MAX, interrupted, storable};
use super::{Handle, NewRecord, NewSource, Owner, Record, Source, State, row};
use toolhost_store::{Store, StoreError};

/// Open records one owner may have: each is a promise that the host keeps on disk.
const OPEN_PER_OWNER: u32 = 10_000;

/// What one owner's records may take, in bytes of messages and results: 256 results of the default
/// limit. Those of calls that have not ended come on top, when they come.
const BYTES_PER_OWNER: i64 = 256 << 20;

/// What all records of a state root may take, in bytes.
const BYTES_IN_ALL: i64 = 4 << 30;

/// Pages given back to the system in one transaction.
const PAGES: u32 = 10_000;

/// Why a call cannot be answered with a handle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum AcceptError {
    /// The owner has as many open records as it may have.
    #[error("{ceiling} calls are pending already, and no more are allowed")]
    Full {
        /// How many it may have.
        ceiling: u32,
    },
    /// The messages and results that are kept take as much as they may.
    #[error("what is kept of pending calls takes as much room as it may")]
    NoRoom,
    /// The message does not hold the call.
    #[error("the message holds no tool call '{call_id}'")]
    MessageOfAnotherCall {
        /// Id of the call.
        call_id: String,
    },
    /// The call's message could not be read back.
    #[error("the message is nested {depth} deep, at most {JSON_DEPTH_MAX} is kept")]
    MessageTooDeep {
        /// Nesting of the message.
        depth: usize,
    },
    /// The system gave no random bytes.
    #[error("the system gave no random bytes")]
    Random(#[from] getrandom::Error),
    /// The record was not stored.
    #[error("the record cannot be stored")]
    Store(#[from] StoreError),
}

/// How much may be kept.
#[derive(Debug, Clone, Copy)]
struct Ceiling {
    open_per_owner: u32,
    bytes_per_owner: i64,
    bytes_in_all: i64,
}

/// The records in a store. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    pub(super) store: Store,
    ceiling: Ceiling,
    pub(super) locale: Locale,
}

impl Records {
    /// The records of `store`; `locale` is that of the results the host itself makes.
    pub(crate) fn new(store: Store, locale: Locale) -> Self {
        Self {
            store,
            ceiling: Ceiling {
                open_per_owner: OPEN_PER_OWNER,
                bytes_per_owner: BYTES_PER_OWNER,
                bytes_in_all: BYTES_IN_ALL,
            },
            locale,
        }
    }

    /// Sets how many open records one owner may have. Default 10,000.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_ceiling(mut self, open_per_owner: u32) -> Self {
        self.ceiling.open_per_owner = open_per_owner;
        self
    }

    /// Sets what the records of one owner, and all of them, may take in bytes.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_bytes(mut self, per_owner: i64, in_all: i64) -> Self {
        self.ceiling.bytes_per_owner = per_owner;
        self.ceiling.bytes_in_all = in_all;
        self
    }

    /// Stores a record and gives its handle. Once it is answered the record survives the process.
    ///
    /// # Errors
    /// [`AcceptError`] where the owner has too many open records, too much is kept, or the store
    /// fails.
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
            while !has_room(tx, owner, ceiling)? {
                if sweep_some(tx, now_ms)? == 0 {
                    return Ok(Err(AcceptError::NoRoom));
                }
            }
            row::insert(tx, &record)?;
            Ok(Ok(()))
        });
        stored.await?.map(|()| handle)
    }

    /// Whether a record runs in this very process.
    pub(crate) fn is_own_running(&self, record: &Record) -> bool {
        let Source::Background { run_id } = &record.source else {
            return false;
        };
        matches!(record.state, State::Running) && run_id == self.store.run_id()
    }

    /// Finds a record that is its owner's and has not expired. One whose process died is shown as it
    /// will be: done, interrupted.
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
        // Its process may have ended the call and then itself since it was read. What is read now is
        // the last that process wrote.
        let mut again = self.find_stored(handle, owner, now).await?;
        if let Some(record) = again.as_mut().filter(|record| self.is_left_behind(record)) {
            record.state = State::Done(Box::new(interrupted(record, self.locale)));
        }
        Ok(again)
    }

    /// Replaces the handle a component is asked with; false where the record no longer waits.
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

    /// Turns a record that runs into one whose component is asked again; false where it runs no more.
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

    /// Ends an open record with `result`, which is not itself pending. The first to end it wins: false
    /// where it was done, cancelled or gone, and nothing has changed.
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

    /// Cancels an open record. Gives it as it was before: a record that was done or cancelled stays
    /// so; none is not the owner's, has expired, or never was.
    pub(crate) async fn cancel(
        &self,
        handle: &Handle,
        owner: &Owner,
        now: SystemTime,
    ) -> Result<Option<Record>, StoreError> {
        // One whose process died is over, though nobody has written so yet.
        let seen = self.find(handle, owner, now).await?;
        if !seen.as_ref().is_some_and(|record| record.state.is_open()) {
            return Ok(seen);
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

    /// Removes expired records and gives their number. One that still runs stays until it has ended:
    /// whoever waits for its end is told.
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

/// Whether one more record may be kept.
fn has_room(tx: &Transaction<'_>, owner: &Owner, ceiling: Ceiling) -> rusqlite::Result<bool> {
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
    Ok(own < ceiling.bytes_per_owner && all < ceiling.bytes_in_all)
}

/// Removes some expired records and says how many; gives the room they took back to the system.
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
        tx.pragma(None, "incremental_vacuum", PAGES, |_| Ok(()))?;
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

/// Unix milliseconds; 0 for what lies before.
fn unix_ms(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

//! Records of what webhooks are told about calls that wait.

use std::time::{Duration, SystemTime};

use toolhost_store::StoreError;
use toolhost_store::sql::{self, Transaction, params};

use super::OwnedHold;
use super::approval::{COLUMNS, OWNED, of_ms, read_owned};
use super::records::{Records, is_dead, unix_ms};

/// Notices that a process sends at the same time.
const TAKEN: u32 = 16;

/// From then on another process may send a notice that was taken. Longer than an attempt takes.
const TAKEN_FOR: Duration = Duration::from_secs(30);

/// The pause after the first attempt that failed. Each further one is twice as long.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(300);

/// What a webhook is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoticeEvent {
    /// A call waits.
    Waiting,
    /// Somebody has decided.
    Decided,
}

impl NoticeEvent {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Decided => "decided",
        }
    }
}

/// A notice that this process has taken, to send it.
#[derive(Debug, Clone)]
pub(crate) struct Notice {
    pub(crate) event: NoticeEvent,
    /// The approval, without what is shown of it.
    pub(crate) about: OwnedHold,
    number: i64,
    attempts: i64,
}

/// What is to be told to a webhook.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) notices: Vec<Notice>,
    /// When the next one is due of those that were not received.
    pub(crate) next: Option<SystemTime>,
}

impl Records {
    /// Takes notices for an address that are due, and those of processes that have ended. No other process gets them
    /// meanwhile.
    pub(crate) async fn take_notices(
        &self,
        url: &str,
        now: SystemTime,
    ) -> Result<Taken, StoreError> {
        let (now_ms, to) = (unix_ms(now), url.to_owned());
        let read = self.store.read(move |tx| {
            let sql = "SELECT DISTINCT taken_by FROM approval_notices
                 WHERE url = ?1 AND next_ms IS NOT NULL AND taken_by IS NOT NULL";
            let mut dead = Vec::new();
            for taker in tx.query_map(sql, (&to,), |row| row.get::<String>(0))? {
                if is_dead(tx, Some(&taker))? {
                    dead.push(taker);
                }
            }
            Ok((dead, next(tx, &to)?))
        });
        let (dead, next_ms) = read.await?;
        if dead.is_empty() && next_ms.is_none_or(|next_ms| next_ms > now_ms) {
            return Ok(Taken {
                next: next_ms.map(of_ms),
                ..Taken::default()
            });
        }
        let to = url.to_owned();
        let taken = self.store.write(move |tx| {
            for taker in &dead {
                let sql = "UPDATE approval_notices SET taken_by = NULL, next_ms = ?3
                     WHERE url = ?1 AND taken_by = ?2 AND next_ms IS NOT NULL";
                tx.execute(sql, (&to, taker, now_ms))?;
            }
            let sql = "UPDATE approval_notices SET next_ms = NULL
                 WHERE url = ?1 AND next_ms IS NOT NULL AND until_ms <= ?2";
            tx.execute(sql, (&to, now_ms))?;
            let notices = due(tx, &to, now_ms)?;
            let sql = "UPDATE approval_notices SET taken_by = ?3, next_ms = ?4, attempts = ?5
                 WHERE number = ?1 AND event = ?2";
            for one in &notices {
                let until_ms = unix_ms(now + TAKEN_FOR);
                let (number, event) = (one.number, one.event.as_str());
                tx.execute(
                    sql,
                    params![number, event, tx.run_id(), until_ms, one.attempts],
                )?;
            }
            Ok(Taken {
                notices,
                next: next(tx, &to)?.map(of_ms),
            })
        });
        taken.await
    }

    /// Stores what became of an attempt: a notice that was not received is sent again after a pause.
    pub(crate) async fn settle_notice(
        &self,
        notice: &Notice,
        is_received: bool,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        let (number, event, attempts) = (notice.number, notice.event.as_str(), notice.attempts);
        let next_ms = (!is_received).then(|| unix_ms(now + pause(attempts)));
        let settled = self.store.write(move |tx| {
            // Another process may have it by now.
            let sql = "UPDATE approval_notices SET next_ms = ?4, taken_by = NULL
                 WHERE number = ?1 AND event = ?2 AND taken_by = ?3";
            tx.execute(sql, (number, event, tx.run_id(), next_ms))
                .map(drop)
        });
        settled.await
    }

    /// Whether a notice for an address can be sent and was not yet, or is being sent by this process.
    pub(crate) async fn has_unsent_notice(&self, url: &str) -> Result<bool, StoreError> {
        let url = url.to_owned();
        let unsent = self.store.read(move |tx| {
            let sql = format!(
                "SELECT 1 FROM approval_notices n
                 WHERE n.url = ?1 AND {NEXT} AND (n.attempts = 0 OR n.taken_by = ?2)"
            );
            tx.exists(&sql, (&url, tx.run_id()))
        });
        unsent.await
    }
}

/// Which notices are sent next: a decision is told once the address knows what it is about.
const NEXT: &str = "n.next_ms IS NOT NULL AND (n.event = 'waiting' OR NOT EXISTS (
    SELECT 1 FROM approval_notices w
    WHERE w.number = n.number AND w.event = 'waiting' AND w.next_ms IS NOT NULL))";

/// Returns when the next notice for an address is due.
fn next(tx: &Transaction<'_>, url: &str) -> sql::Result<Option<i64>> {
    let sql = format!("SELECT min(n.next_ms) FROM approval_notices n WHERE n.url = ?1 AND {NEXT}");
    tx.query_row(&sql, (url,), |row| row.get(0))
}

/// Returns what is due, the oldest first.
fn due(tx: &Transaction<'_>, url: &str, now_ms: i64) -> sql::Result<Vec<Notice>> {
    let sql = format!(
        "SELECT n.event, n.attempts, {COLUMNS}, {OWNED}
         FROM approval_notices n JOIN approvals a ON a.number = n.number JOIN pending p ON p.handle = a.handle
         WHERE n.url = ?1 AND n.next_ms <= ?2 AND {NEXT}
         ORDER BY n.next_ms LIMIT ?3"
    );
    let due = tx.query_map(&sql, (url, now_ms, TAKEN), |row| {
        let (event, attempts): (String, i64) = (row.get("event")?, row.get("attempts")?);
        let (number, about) = read_owned(row)?;
        Ok(Notice {
            event: if event == NoticeEvent::Decided.as_str() {
                NoticeEvent::Decided
            } else {
                NoticeEvent::Waiting
            },
            about,
            number,
            attempts: attempts.saturating_add(1),
        })
    })?;
    Ok(due)
}

/// Returns the pause after so many attempts.
fn pause(attempts: i64) -> Duration {
    let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
    let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
    PAUSE.saturating_mul(factor).min(PAUSE_MAX)
}

//! What the threads of a session do for callers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::connection::PgWork;
use crate::error::StoreError;
use crate::sql::{self, Transaction};

/// How long a caller waits for PostgreSQL.
pub(super) const WAIT: Duration = Duration::from_secs(if cfg!(test) { 10 } else { 30 });

/// How a job ended that may run again.
pub(super) enum Ran {
    Done,
    /// What it changed is to be taken back.
    Failed,
    /// The transaction is over, and is to run again as a whole.
    Lost(sql::Error),
}

/// PgWork of a caller.
pub(super) trait Job: Send {
    /// Whether the caller still waits.
    fn is_wanted(&self) -> bool;

    /// Until when PostgreSQL is asked again.
    fn until(&self) -> Instant;

    /// Does the work, and keeps what comes of it.
    fn run(&mut self, work: &PgWork<'_>) -> Ran;

    /// Tells the caller what came of it, or that it failed.
    fn reply(self: Box<Self>, failed: Option<StoreError>);
}

/// Where an answer goes.
pub(super) enum Reply<T> {
    Future(oneshot::Sender<Result<T, StoreError>>),
    Thread(mpsc::Sender<Result<T, StoreError>>),
}

struct Typed<T, W> {
    database: PathBuf,
    work: W,
    until: Instant,
    result: Option<Result<T, StoreError>>,
    reply: Reply<T>,
}

pub(super) fn job<T, W>(database: &str, work: W, reply: Reply<T>) -> Box<dyn Job>
where
    T: Send + 'static,
    W: Fn(&Transaction<'_>) -> sql::Result<T> + Send + 'static,
{
    let now = Instant::now();
    Box::new(Typed {
        database: database.into(),
        work,
        until: now.checked_add(WAIT).unwrap_or(now),
        result: None,
        reply,
    })
}

impl<T, W> Job for Typed<T, W>
where
    T: Send + 'static,
    W: Fn(&Transaction<'_>) -> sql::Result<T> + Send + 'static,
{
    fn is_wanted(&self) -> bool {
        match &self.reply {
            Reply::Future(reply) => !reply.is_closed(),
            Reply::Thread(_) => true,
        }
    }

    fn until(&self) -> Instant {
        self.until
    }

    fn run(&mut self, work: &PgWork<'_>) -> Ran {
        // Unwind safe: what the work changed in the database is taken back, and nothing else is shared.
        let done = catch_unwind(AssertUnwindSafe(|| (self.work)(&Transaction::new(work))));
        let path = || self.database.clone();
        let (ran, result) = match done {
            Err(_) => (Ran::Failed, Err(StoreError::Panicked { path: path() })),
            Ok(Err(error)) if work.is_lost() => return Ran::Lost(error),
            Ok(Err(error)) => (Ran::Failed, Err(StoreError::of(&self.database, error))),
            Ok(Ok(_)) if work.has_failed() => {
                let text = "a statement failed, and the work went on";
                let error = sql::Error::Unavailable(text.to_owned());
                if work.is_lost() {
                    return Ran::Lost(error);
                }
                (Ran::Failed, Err(StoreError::of(&self.database, error)))
            }
            Ok(Ok(value)) => (Ran::Done, Ok(value)),
        };
        self.result = Some(result);
        ran
    }

    fn reply(self: Box<Self>, failed: Option<StoreError>) {
        let stopped = StoreError::Stopped {
            path: self.database,
        };
        let result = match failed {
            Some(error) => Err(error),
            None => self.result.unwrap_or(Err(stopped)),
        };
        // The caller may have gone meanwhile.
        match self.reply {
            Reply::Future(reply) => drop(reply.send(result)),
            Reply::Thread(reply) => drop(reply.send(result)),
        }
    }
}

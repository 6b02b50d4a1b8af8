//! The thread that reads, and keeps the run alive.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::config::PostgresConfig;
use super::connection::{Connection, PgWork, is_lost, within_time};
use super::job::{Job, Ran};
use super::run::{self, Run};
use crate::error::StoreError;
use crate::sql;

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// The pauses between attempts to connect.
const PAUSE: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

pub(super) struct Reader {
    pub(super) runtime: Runtime,
    pub(super) config: PostgresConfig,
    pub(super) run: Arc<Run>,
}

impl Reader {
    pub(super) fn read(self, mut jobs: mpsc::Receiver<Box<dyn Job>>) {
        let alive = run::keep_alive(self.config.clone(), Arc::clone(&self.run));
        let alive = self.runtime.spawn(alive);
        let (mut connection, mut last) = (None, LastError::default());
        while let Some(job) = self.runtime.block_on(jobs.recv()) {
            if job.is_wanted() {
                self.serve(&mut connection, &mut last, job);
            }
        }
        alive.abort();
    }

    fn serve(
        &self,
        connection: &mut Option<Connection>,
        last: &mut LastError,
        mut job: Box<dyn Job>,
    ) {
        let mut pauses = Pauses::new(job.until());
        if connection.is_none()
            && let Some(error) = last.of_late(&pauses)
        {
            return job.reply(Some(unreachable(&self.config, error)));
        }
        loop {
            match self.attempt(connection, &mut *job) {
                Ok(is_open) => {
                    job.reply(None);
                    if is_open
                        && let Some(open) = &*connection
                        && within_time(&self.runtime, open.client().batch_execute("COMMIT"))
                            .is_err()
                    {
                        *connection = None;
                    }
                    return;
                }
                Err(error) => {
                    *connection = None;
                    if !is_lost(&error) || !pauses.wait(&self.runtime) {
                        last.note(&error);
                        return job.reply(Some(unreachable(&self.config, error)));
                    }
                }
            }
        }
    }

    /// Returns whether a transaction was begun.
    fn attempt(&self, connection: &mut Option<Connection>, job: &mut dyn Job) -> sql::Result<bool> {
        let connection = connected(connection, &self.runtime, &self.config)?;
        let run_id = self.run.id();
        let work = PgWork::reading(&self.runtime, connection, &run_id, BEGIN);
        match job.run(&work) {
            Ran::Done | Ran::Failed => Ok(!work.is_untouched()),
            Ran::Lost(error) => Err(error),
        }
    }
}

/// Returns the connection; a new one if there is none.
pub(super) fn connected<'a>(
    connection: &'a mut Option<Connection>,
    runtime: &Runtime,
    config: &PostgresConfig,
) -> sql::Result<&'a Connection> {
    match connection {
        Some(connection) => Ok(connection),
        None => Ok(connection.insert(within_time(runtime, Connection::open(config))?)),
    }
}

pub(super) fn unreachable(config: &PostgresConfig, source: sql::Error) -> StoreError {
    StoreError::Unreachable {
        database: config.name().to_owned(),
        source,
    }
}

/// Why the server was not reached for the last caller.
#[derive(Default)]
pub(super) struct LastError(String);

impl LastError {
    pub(super) fn note(&mut self, error: &sql::Error) {
        self.0 = error.to_string();
    }

    /// Returns the error for a caller whose time was over before its turn: those that wait behind each other do not each
    /// try for as long as a connection takes.
    pub(super) fn of_late(&self, pauses: &Pauses) -> Option<sql::Error> {
        let is_late = !self.0.is_empty() && Instant::now() >= pauses.until;
        is_late.then(|| sql::Error::Unavailable(self.0.clone()))
    }
}

/// The pauses of a caller whose work is tried again: each twice as long.
pub(super) struct Pauses {
    until: Instant,
    next: Duration,
}

impl Pauses {
    pub(super) fn new(until: Instant) -> Self {
        Self { until, next: PAUSE }
    }

    /// Waits before the next attempt. Returns false if the time is over.
    pub(super) fn wait(&mut self, runtime: &Runtime) -> bool {
        let pause = self.next;
        self.next = (pause * 2).min(PAUSE_MAX);
        if Instant::now() + pause >= self.until {
            return false;
        }
        runtime.block_on(async { tokio::time::sleep(pause).await });
        true
    }
}

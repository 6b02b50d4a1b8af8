//! The thread that writes: one transaction for all jobs that wait.

use std::sync::Arc;
use std::time::Instant;

use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::config::PostgresConfig;
use super::connection::{Connection, PgWork, is_lost, within_time};
use super::job::{Job, Ran};
use super::reader::{LastError, Pauses, connected, unreachable};
use super::run::{self, Run};
use crate::error::StoreError;
use crate::sql;

/// Jobs in one transaction. PostgreSQL keeps the ids of 64 savepoints of a transaction in shared memory.
const BATCH: usize = 64;

const SAVEPOINT: &str = "SAVEPOINT job";
const NEXT_SAVEPOINT: &str = "RELEASE SAVEPOINT job; SAVEPOINT job";

pub(super) struct Writer {
    pub(super) runtime: Runtime,
    pub(super) config: PostgresConfig,
    pub(super) run: Arc<Run>,
    pub(super) connection: Option<Connection>,
    /// The number of the last transaction of this process.
    pub(super) number: i64,
    /// The run and the number of a transaction whose COMMIT got no answer.
    pub(super) unanswered: Option<(Arc<str>, i64)>,
    pub(super) last: LastError,
}

/// Why an attempt ended before its jobs were stored.
enum Ended {
    /// The run was declared dead.
    Run,
    Failed(sql::Error),
}

impl From<sql::Error> for Ended {
    fn from(error: sql::Error) -> Self {
        Self::Failed(error)
    }
}

impl Writer {
    pub(super) fn write(mut self, mut queue: mpsc::Receiver<Box<dyn Job>>) {
        while let Some(first) = self.runtime.block_on(queue.recv()) {
            let mut jobs = vec![first];
            while jobs.len() < BATCH
                && let Ok(job) = queue.try_recv()
            {
                jobs.push(job);
            }
            jobs.retain(|job| job.is_wanted());
            if !jobs.is_empty() {
                self.serve(jobs);
            }
        }
        self.end_run();
    }

    /// Marks the run as ended, so that others need not wait until it is silent for long.
    fn end_run(&mut self) {
        let run_id = self.run.id();
        if let Some(connection) = &self.connection {
            let end = "UPDATE runs SET has_ended = true WHERE run_id = $1";
            let end = async { connection.client().execute(end, &[&&*run_id]).await };
            // Others find out after some seconds.
            let _ = within_time(&self.runtime, end);
        }
    }

    fn serve(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        let until = jobs.iter().map(|job| job.until()).max();
        let mut pauses = Pauses::new(until.unwrap_or_else(Instant::now));
        let is_connected = self.connection.is_some();
        let late = self.last.of_late(&pauses).filter(|_| !is_connected);
        let error = loop {
            if let Some(error) = late {
                break error;
            }
            match self.attempt(&mut jobs) {
                Ok(()) => return jobs.into_iter().for_each(|job| job.reply(None)),
                Err(Ended::Run) => {
                    if let Err(error) = self.begin_next_run() {
                        break error;
                    }
                    if !pauses.wait(&self.runtime) {
                        let text = "this process was stopped for too long";
                        break sql::Error::Unavailable(text.to_owned());
                    }
                }
                Err(Ended::Failed(error)) => {
                    self.connection = None;
                    if !is_lost(&error) || !pauses.wait(&self.runtime) {
                        break error;
                    }
                }
            }
        };
        self.last.note(&error);
        let is_unanswered = self.unanswered.take().is_some();
        let text = self.text(&error, is_unanswered);
        let mut source = Some(error);
        for job in jobs {
            let again = || sql::Error::Unavailable(text.clone());
            let source = source.take().filter(|_| !is_unanswered);
            job.reply(Some(unreachable(
                &self.config,
                source.unwrap_or_else(again),
            )));
        }
    }

    fn text(&self, error: &sql::Error, is_unanswered: bool) -> String {
        let error = unreachable(&self.config, sql::Error::Unavailable(error.to_string()));
        let error = StoreError::with_causes(&error);
        if is_unanswered {
            return format!("{error}; whether the last change is stored is not known");
        }
        error
    }

    /// Goes on as another run.
    fn begin_next_run(&mut self) -> sql::Result<()> {
        let random = |error: getrandom::Error| sql::Error::Unavailable(error.to_string());
        let run_id = self.run.renew().map_err(random)?;
        tracing::error!(%run_id, "this process was stopped for too long and declared dead: its calls are interrupted, and it goes on as another run");
        let connection = connected(&mut self.connection, &self.runtime, &self.config)?;
        match within_time(&self.runtime, run::begin(connection.client(), &run_id)) {
            // The next attempt finds out that the run has not begun.
            Err(error) if is_lost(&error) => {
                self.connection = None;
                Ok(())
            }
            begun => begun,
        }
    }

    /// Runs all jobs in one transaction.
    fn attempt(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), Ended> {
        let connection = connected(&mut self.connection, &self.runtime, &self.config)?;
        let client = connection.client();
        let begin = format!(
            "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('toolhost {}', 0))",
            self.config.schema
        );
        let wait = |sql: &str| within_time(&self.runtime, client.batch_execute(sql));
        if let Some((run_id, number)) = &self.unanswered {
            wait(&begin)?;
            let count = "SELECT number FROM runs WHERE run_id = $1";
            let row = async { client.query_opt(count, &[&&**run_id]).await };
            let row = within_time(&self.runtime, row)?;
            wait("ROLLBACK")?;
            let is_done = row.is_some_and(|row| row.get::<_, i64>(0) >= *number);
            self.unanswered = None;
            if is_done {
                return Ok(());
            }
        }
        let run_id = self.run.id();
        self.number += 1;
        let number = self.number;
        let begun = connection.begin_marked(&begin, &run_id, number);
        if !within_time(&self.runtime, begun)? {
            wait("ROLLBACK")?;
            return Err(Ended::Run);
        }
        let is_alone = jobs.len() == 1;
        let mut has_savepoint = false;
        for job in &mut *jobs {
            let before = if has_savepoint {
                NEXT_SAVEPOINT
            } else {
                SAVEPOINT
            };
            let before = Some(before).filter(|_| !is_alone);
            let work = PgWork::new(&self.runtime, connection, &run_id, before);
            let ran = job.run(&work);
            has_savepoint |= !is_alone && !work.is_untouched();
            match ran {
                Ran::Done => {}
                Ran::Failed if is_alone => return Ok(wait("ROLLBACK")?),
                Ran::Failed if work.is_untouched() => {}
                Ran::Failed => wait("ROLLBACK TO SAVEPOINT job")?,
                Ran::Lost(error) => return Err(error.into()),
            }
        }
        wait("COMMIT").map_err(|error| {
            if is_lost(&error) {
                self.unanswered = Some((run_id, number));
            }
            error.into()
        })
    }
}

//! The threads of a process that use a database in PostgreSQL.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc as threads;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::Client;

use super::config::PostgresConfig;
use super::connection::{Connection, is_lost, within_time};
use super::job::{Job, Reply, job};
use super::reader::{LastError, Pauses, Reader, unreachable};
use super::run::{self, Run};
use super::writer::Writer;
use crate::error::StoreError;
use crate::schema::Schema;
use crate::sql::{self, Transaction};

/// Jobs that wait for a thread; further callers wait until there are fewer.
const QUEUE: usize = 1024;

/// How long the first connection is tried.
const START_TIME: Duration = Duration::from_secs(5);

/// The version of the tables that are no owner's.
const VERSION: i64 = 1;

/// The row of `schema_versions` that has [`VERSION`].
const COMMON: &str = "";

/// The encoding of a database that any text can be stored in.
const ENCODING: &str = "UTF8";

const TABLES: &str = r#"
    CREATE TABLE IF NOT EXISTS schema_versions (owner TEXT COLLATE "C" NOT NULL PRIMARY KEY, version BIGINT NOT NULL);
    CREATE TABLE IF NOT EXISTS runs (
        run_id     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
        -- The last transaction that was written.
        number     BIGINT      NOT NULL DEFAULT 0,
        expires_at TIMESTAMPTZ NOT NULL,
        has_ended  BOOLEAN     NOT NULL DEFAULT false
    ) WITH (fillfactor = 50)"#;

type Queue = mpsc::Sender<Box<dyn Job>>;

/// The threads. They end once this is dropped and the queues are empty.
pub(crate) struct Session {
    name: String,
    run: Arc<Run>,
    writes: Queue,
    reads: Queue,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Connects, makes the tables that all owners need, and starts the threads. Blocks for some seconds at most.
    pub(super) fn start(config: &PostgresConfig) -> Result<Self, StoreError> {
        let run = Arc::new(Run::new()?);
        let (report, started) = threads::channel();
        let writes = {
            let (config, run) = (config.clone(), Arc::clone(&run));
            spawn("toolhost-write", move |runtime, jobs| {
                let opened = open(&runtime, &config, &run.id());
                let (opened, connection) = match opened {
                    Ok(connection) => (Ok(()), Some(connection)),
                    Err(error) => (Err(error), None),
                };
                let is_open = opened.is_ok();
                // Nobody waits for it if the starting thread has ended.
                let _ = report.send(opened);
                let (number, unanswered) = (0, None);
                if is_open {
                    let writer = Writer {
                        runtime,
                        config,
                        run,
                        connection,
                        number,
                        unanswered,
                        last: LastError::default(),
                    };
                    writer.write(jobs);
                }
            })?
        };
        let stopped = StoreError::Stopped {
            path: config.name().into(),
        };
        started.recv().unwrap_or(Err(stopped))?;
        let reads = {
            let (config, run) = (config.clone(), Arc::clone(&run));
            spawn("toolhost-read", move |runtime, jobs| {
                Reader {
                    runtime,
                    config,
                    run,
                }
                .read(jobs);
            })?
        };
        let name = config.name().to_owned();
        Ok(Self {
            name,
            run,
            writes,
            reads,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn run_id(&self) -> Arc<str> {
        self.run.id()
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&Transaction<'_>) -> sql::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.ask(&self.writes, work).await
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&Transaction<'_>) -> sql::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.ask(&self.reads, work).await
    }

    async fn ask<T: Send + 'static>(
        &self,
        queue: &Queue,
        work: impl Fn(&Transaction<'_>) -> sql::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, replied) = oneshot::channel();
        let sent = queue.send(job(&self.name, work, Reply::Future(reply)));
        sent.await.map_err(|_| self.stopped())?;
        replied.await.map_err(|_| self.stopped())?
    }

    pub(crate) fn blocking_read<T: Send + 'static>(
        &self,
        work: impl Fn(&Transaction<'_>) -> sql::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.ask_blocking(&self.reads, work)
    }

    /// Asks on a thread that may wait, also one that runs futures in a test.
    fn ask_blocking<T: Send + 'static>(
        &self,
        queue: &Queue,
        work: impl Fn(&Transaction<'_>) -> sql::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, replied) = threads::channel();
        let mut job = job(&self.name, work, Reply::Thread(reply));
        loop {
            match queue.try_send(job) {
                Ok(()) => break,
                Err(TrySendError::Closed(_)) => return Err(self.stopped()),
                Err(TrySendError::Full(full)) => {
                    job = full;
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
        replied.recv().unwrap_or_else(|_| Err(self.stopped()))
    }

    /// Brings the tables of an owner up to date.
    pub(crate) fn migrate(&self, schema: &Schema) -> Result<(), StoreError> {
        let schema = *schema;
        let known = i64::try_from(schema.postgres.len()).unwrap_or(i64::MAX);
        let mut version = self.blocking_read(move |tx| version(tx, schema.owner))?;
        if version < known {
            version = self.ask_blocking(&self.writes, move |tx| upgrade(tx, &schema))?;
        }
        if version > known {
            let path = PathBuf::from(&self.name);
            let found = version;
            return Err(StoreError::Newer { path, found, known });
        }
        Ok(())
    }

    fn stopped(&self) -> StoreError {
        StoreError::Stopped {
            path: PathBuf::from(&self.name),
        }
    }
}

fn spawn(
    name: &str,
    work: impl FnOnce(Runtime, mpsc::Receiver<Box<dyn Job>>) + Send + 'static,
) -> Result<Queue, StoreError> {
    let (jobs, queue) = mpsc::channel(QUEUE);
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(StoreError::Thread)?;
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || work(runtime, queue))
        .map_err(StoreError::Thread)?;
    Ok(jobs)
}

/// Opens the first connection.
fn open(
    runtime: &Runtime,
    config: &PostgresConfig,
    run_id: &str,
) -> Result<Connection, StoreError> {
    let now = Instant::now();
    let mut pauses = Pauses::new(now.checked_add(START_TIME).unwrap_or(now));
    loop {
        let opened = within_time(runtime, async {
            let connection = Connection::open(config).await?;
            let encoding = encoding(connection.client()).await?;
            if encoding != ENCODING {
                return Ok(Err(encoding));
            }
            let found = prepare(connection.client(), &config.schema).await?;
            if found <= VERSION {
                run::begin(connection.client(), run_id).await?;
            }
            Ok(Ok((connection, found)))
        });
        match opened {
            Ok(Err(encoding)) => {
                let name = config.name();
                return Err(StoreError::Settings(format!(
                    "the database {name} has the encoding {encoding}: make one with ENCODING 'UTF8'"
                )));
            }
            Ok(Ok((connection, found))) if found <= VERSION => return Ok(connection),
            Ok(Ok((_, found))) => {
                let (path, known) = (config.name().into(), VERSION);
                return Err(StoreError::Newer { path, found, known });
            }
            Err(error) if is_lost(&error) && pauses.wait(runtime) => {}
            Err(error) => return Err(unreachable(config, error)),
        }
    }
}

async fn encoding(client: &Client) -> Result<String, tokio_postgres::Error> {
    let encoding = "SELECT current_setting('server_encoding')";
    client.query_one(encoding, &[]).await?.try_get(0)
}

/// Makes what all owners need, unless it is there. Returns its version.
async fn prepare(client: &Client, schema: &str) -> Result<i64, tokio_postgres::Error> {
    let exists = "SELECT to_regclass('schema_versions') IS NOT NULL";
    let version = "SELECT version FROM schema_versions WHERE owner = $1";
    if client.query_one(exists, &[]).await?.get(0) {
        let row = client.query_opt(version, &[&COMMON]).await?;
        if let Some(row) = row {
            return Ok(row.get(0));
        }
    }
    let lock =
        format!("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('toolhost {schema}', 0))");
    client.batch_execute(&lock).await?;
    let there = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
    if client.query_opt(there, &[&schema]).await?.is_none() {
        client
            .batch_execute(&format!("CREATE SCHEMA \"{schema}\""))
            .await?;
    }
    client.batch_execute(TABLES).await?;
    let insert = "INSERT INTO schema_versions VALUES ($1, $2) ON CONFLICT (owner) DO NOTHING";
    client.execute(insert, &[&COMMON, &VERSION]).await?;
    client.batch_execute("COMMIT").await?;
    Ok(VERSION)
}

/// Returns how many steps of an owner were run.
fn version(tx: &Transaction<'_>, owner: &str) -> sql::Result<i64> {
    let select = "SELECT version FROM schema_versions WHERE owner = ?1";
    let version = tx.query_optional(select, [owner], |row| row.get(0))?;
    Ok(version.unwrap_or_default())
}

/// Runs the steps that are missing. Returns the version then.
fn upgrade(tx: &Transaction<'_>, schema: &Schema) -> sql::Result<i64> {
    let done = version(tx, schema.owner)?;
    let done_count = usize::try_from(done).unwrap_or_default();
    let missing = schema.postgres.get(done_count..).unwrap_or_default();
    if missing.is_empty() {
        return Ok(done);
    }
    for step in missing {
        tx.execute_batch(step)?;
    }
    let known = i64::try_from(schema.postgres.len()).unwrap_or(i64::MAX);
    let set = "INSERT INTO schema_versions (owner, version) VALUES (?1, ?2)
        ON CONFLICT (owner) DO UPDATE SET version = excluded.version";
    tx.execute(set, (schema.owner, known))?;
    Ok(known)
}

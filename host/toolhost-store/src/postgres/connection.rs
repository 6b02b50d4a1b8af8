//! A connection, and the work in one of its transactions.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row, Statement};

use super::config::PostgresConfig;
use super::statement::Translated;
use super::tls::Tls;
use crate::error::WORK_TIME;
use crate::sql::{self, Bindings, Error, Read, Result, ValueRef, Work};

/// How long the server may take for a statement. Then it is asked no more, and the connection is closed.
const STATEMENT_TIME: Duration = WORK_TIME.saturating_add(Duration::from_secs(5));

/// How long a transaction may wait for its process, in ms: one that was stopped does not keep the others from writing.
const IDLE_MS: u32 = 10_000;

/// How long a transaction waits for those of other processes, in ms, before it begins anew.
const LOCK_MS: u32 = 10_000;

/// How long a run is alive that does not say so, by the clock of the database.
pub(super) const LIFE: Duration = Duration::from_secs(if IS_TEST { 2 } else { 10 });

/// Whether tests wait for runs to end.
pub(super) const IS_TEST: bool = cfg!(any(test, feature = "testing"));

/// Statements that are kept prepared; there are some 100.
const PREPARED_MAX: usize = 1_000;

/// Begins each transaction that writes.
const MARK: &str =
    "UPDATE runs SET number = $2, expires_at = {LIFE} WHERE run_id = $1 AND NOT has_ended";

type Prepared = Rc<(Statement, Translated)>;

/// A connection. It ends when it is dropped.
pub(super) struct Connection {
    client: Client,
    prepared: RefCell<HashMap<String, Prepared>>,
    /// What begins each transaction that writes.
    mark: OnceCell<Statement>,
}

/// Work in a transaction of PostgreSQL.
pub(super) struct PgWork<'a> {
    runtime: &'a Runtime,
    connection: &'a Connection,
    run_id: &'a str,
    /// Whether it may write.
    writes: bool,
    /// What is sent with the first statement.
    before: Cell<Option<&'static str>>,
    has_failed: Cell<bool>,
    is_lost: Cell<bool>,
}

impl fmt::Debug for PgWork<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PgWork")
    }
}

/// Returns a statement with the time that a run lives in the place of `{LIFE}`.
pub(super) fn with_life(sql: &str) -> String {
    let life = format!("clock_timestamp() + interval '{} seconds'", LIFE.as_secs());
    sql.replace("{LIFE}", &life)
}

/// Connects, in the runtime of the caller.
pub(super) async fn connect(
    config: &PostgresConfig,
) -> std::result::Result<Client, tokio_postgres::Error> {
    let client = match &config.tls {
        Some(tls) => {
            let (client, driver) = config.driver.connect(Tls(tls.clone())).await?;
            tokio::spawn(driver);
            client
        }
        None => {
            let (client, driver) = config.driver.connect(NoTls).await?;
            tokio::spawn(driver);
            client
        }
    };
    let (schema, work_ms) = (&config.schema, WORK_TIME.as_millis());
    let settings = format!(
        "SET search_path TO \"{schema}\"; SET statement_timeout = {work_ms}; SET lock_timeout = {LOCK_MS};
         SET idle_in_transaction_session_timeout = {IDLE_MS}; SET client_min_messages = warning"
    );
    client.batch_execute(&settings).await?;
    Ok(client)
}

impl Connection {
    /// Connects, in the runtime of the caller.
    pub(super) async fn open(
        config: &PostgresConfig,
    ) -> std::result::Result<Self, tokio_postgres::Error> {
        Ok(Self {
            client: connect(config).await?,
            prepared: RefCell::default(),
            mark: OnceCell::new(),
        })
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Begins a transaction with `begin`, and marks in it that the run is alive and that this is its transaction of that
    /// number. Returns false if the run was declared dead. Others cannot declare it dead until the end.
    pub(super) async fn begin_marked(
        &self,
        begin: &str,
        run_id: &str,
        number: i64,
    ) -> std::result::Result<bool, tokio_postgres::Error> {
        let mark = match self.mark.get() {
            Some(mark) => mark,
            None => {
                let mark = self.client.prepare(&with_life(MARK)).await?;
                self.mark.get_or_init(|| mark)
            }
        };
        let (begin, marked) = (self.client.batch_execute(begin), async {
            self.client.execute(mark, &[&run_id, &number]).await
        });
        let (begun, marked) = tokio::join!(biased; begin, marked);
        begun?;
        Ok(marked? == 1)
    }
}

impl<'a> PgWork<'a> {
    pub(super) fn new(
        runtime: &'a Runtime,
        connection: &'a Connection,
        run_id: &'a str,
        before: Option<&'static str>,
    ) -> Self {
        Self {
            runtime,
            connection,
            run_id,
            writes: true,
            before: Cell::new(before),
            has_failed: Cell::new(false),
            is_lost: Cell::new(false),
        }
    }

    /// Work in a transaction that `begin` begins, and that only reads.
    pub(super) fn reading(
        runtime: &'a Runtime,
        connection: &'a Connection,
        run_id: &'a str,
        begin: &'static str,
    ) -> Self {
        Self {
            writes: false,
            ..Self::new(runtime, connection, run_id, Some(begin))
        }
    }

    /// Whether nothing was sent yet.
    pub(super) fn is_untouched(&self) -> bool {
        self.before.get().is_some()
    }

    /// Whether a statement failed, so that PostgreSQL refuses further ones.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.get()
    }

    /// Whether the transaction is over without an answer, so that all of it is to run again.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.get()
    }

    fn rows(&self, sql: &str, values: Bindings<'_>) -> Result<Vec<Row>> {
        let prepared = self.prepare(sql)?;
        let params = prepared.1.params(values)?;
        let params: Vec<_> = params.iter().map(|it| it as &(dyn ToSql + Sync)).collect();
        self.wait(self.connection.client.query(&prepared.0, &params))
    }

    fn prepare(&self, sql: &str) -> Result<Prepared> {
        if let Some(prepared) = self.connection.prepared.borrow().get(sql) {
            return Ok(Rc::clone(prepared));
        }
        let translated = Translated::new(sql);
        let statement = self.wait(self.connection.client.prepare(&translated.text))?;
        let prepared = Rc::new((statement, translated));
        let mut all = self.connection.prepared.borrow_mut();
        if all.len() >= PREPARED_MAX {
            all.clear();
        }
        all.insert(sql.to_owned(), Rc::clone(&prepared));
        Ok(prepared)
    }

    /// Waits for a statement, which is sent together with what comes before it.
    fn wait<T>(
        &self,
        statement: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        let before = self.before.take();
        let both = async {
            let Some(before) = before else {
                return statement.await;
            };
            let before = self.connection.client.batch_execute(before);
            let (before, done) = tokio::join!(biased; before, statement);
            before.and(done)
        };
        let done = within_time(self.runtime, both);
        if let Err(error) = &done {
            self.has_failed.set(true);
            // A write in a transaction that reads is the work's fault.
            if is_lost(error) && (self.writes || !is_read_only(error)) {
                self.is_lost.set(true);
            }
        }
        done
    }
}

impl Work for PgWork<'_> {
    fn run_id(&self) -> &str {
        self.run_id
    }

    fn is_alive(&self, run_id: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM runs WHERE run_id = ?1 AND NOT has_ended";
        let of = [ValueRef::Text(run_id)];
        let rows = self.rows(sql, Bindings::Positional(&of))?;
        Ok(!rows.is_empty())
    }

    fn execute(&self, sql: &str, values: Bindings<'_>) -> Result<usize> {
        let prepared = self.prepare(sql)?;
        let params = prepared.1.params(values)?;
        let params: Vec<_> = params.iter().map(|it| it as &(dyn ToSql + Sync)).collect();
        let changed = self.wait(self.connection.client.execute(&prepared.0, &params))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn query(&self, sql: &str, values: Bindings<'_>, read: &mut Read<'_>) -> Result<()> {
        for row in self.rows(sql, values)? {
            if read(&sql::Row::new(&row))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn execute_batch(&self, sql: &str) -> Result<()> {
        self.wait(self.connection.client.batch_execute(sql))
    }

    fn free_pages(&self, _: u32) -> Result<()> {
        Ok(())
    }
}

/// Waits for an answer of the server.
pub(super) fn within_time<T>(
    runtime: &Runtime,
    answer: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
) -> Result<T> {
    let answer = runtime.block_on(async { tokio::time::timeout(STATEMENT_TIME, answer).await });
    let late = |_| {
        let seconds = STATEMENT_TIME.as_secs();
        Error::Unavailable(format!("PostgreSQL gave no answer for {seconds} s"))
    };
    Ok(answer.map_err(late)??)
}

/// Whether a transaction ended with this that may run again.
pub(super) fn is_lost(error: &Error) -> bool {
    let Error::Postgres(error) = error else {
        return matches!(error, Error::Unavailable(_));
    };
    let Some(state) = error.code() else {
        // Without an answer of the server: the connection. A value of another type is not for the connection to blame.
        return error.is_closed() || has_io_cause(error);
    };
    let states = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::TOO_MANY_CONNECTIONS,
        // A server that has become a replica, while another one takes its place.
        SqlState::READ_ONLY_SQL_TRANSACTION,
    ];
    states.contains(state) || state.code().starts_with("08")
}

fn is_read_only(error: &Error) -> bool {
    matches!(error, Error::Postgres(error) if error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION))
}

fn has_io_cause(error: &tokio_postgres::Error) -> bool {
    let first: &dyn std::error::Error = error;
    let mut causes = std::iter::successors(Some(first), |error| error.source());
    // A certificate that is refused is invalid data.
    let is_broken = |error: &std::io::Error| error.kind() != std::io::ErrorKind::InvalidData;
    causes.any(|cause| cause.downcast_ref().is_some_and(is_broken))
}

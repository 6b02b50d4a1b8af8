//! The row that says that a process is alive.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_postgres::Client;

use super::config::PostgresConfig;
use super::connection::{IS_TEST, connect, with_life};
use crate::random::random_text;

/// Letters of a run's id: 80 random bits.
const ID_LETTERS: usize = 16;

/// How often a run says that it is alive, and looks for those that do not.
const RENEWAL: Duration = Duration::from_millis(if IS_TEST { 200 } else { 1_000 });

/// The run of this process. It becomes another one if others have declared it dead.
#[derive(Debug)]
pub(super) struct Run(Mutex<Arc<str>>);

impl Run {
    pub(super) fn new() -> Result<Self, getrandom::Error> {
        Ok(Self(Mutex::new(new_id()?)))
    }

    pub(super) fn id(&self) -> Arc<str> {
        let id = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&id)
    }

    /// Takes a new id.
    pub(super) fn renew(&self) -> Result<Arc<str>, getrandom::Error> {
        let new = new_id()?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&new);
        Ok(new)
    }
}

fn new_id() -> Result<Arc<str>, getrandom::Error> {
    Ok(random_text::<ID_LETTERS>()?.into())
}

/// Inserts a run, and marks those as ended that are silent.
pub(super) async fn begin(client: &Client, run_id: &str) -> Result<(), tokio_postgres::Error> {
    reap(client).await?;
    let insert = with_life("INSERT INTO runs (run_id, expires_at) VALUES ($1, {LIFE})");
    client.execute(&insert, &[&run_id]).await.map(drop)
}

/// Marks the runs as ended that do not say that they are alive. One of which a transaction is being written is not among
/// them: it has changed its row. Ended ones stay for a day, so that their last transaction can be asked for.
async fn reap(client: &Client) -> Result<(), tokio_postgres::Error> {
    let end =
        "UPDATE runs SET has_ended = true WHERE NOT has_ended AND expires_at < clock_timestamp()";
    client.execute(end, &[]).await?;
    let forget =
        "DELETE FROM runs WHERE has_ended AND expires_at < clock_timestamp() - interval '1 day'";
    client.execute(forget, &[]).await.map(drop)
}

/// Says each second that a run is alive, and looks for those that do not.
pub(super) async fn keep_alive(config: PostgresConfig, run: Arc<Run>) {
    let (mut client, mut has_failed) = (None, false);
    loop {
        match renew(&config, &mut client, &run.id()).await {
            Ok(()) => has_failed = false,
            Err(error) => {
                client = None;
                if !has_failed {
                    has_failed = true;
                    tracing::warn!(%error, database = config.name(), "cannot tell PostgreSQL that this process is alive");
                }
            }
        }
        tokio::time::sleep(RENEWAL).await;
    }
}

async fn renew(
    config: &PostgresConfig,
    client: &mut Option<Client>,
    run_id: &str,
) -> Result<(), tokio_postgres::Error> {
    let client = match client {
        Some(client) => client,
        None => client.insert(connect(config).await?),
    };
    let sql = with_life("UPDATE runs SET expires_at = {LIFE} WHERE run_id = $1 AND NOT has_ended");
    client.execute(&sql, &[&run_id]).await?;
    reap(client).await
}

//! The row that says that a process is alive.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::Client;

use super::config::PostgresConfig;
use super::connection::{IS_TEST, LIFE, connect, with_life};
use crate::random::random_text;
use crate::sql;

/// Letters of a run's id: 80 random bits.
const ID_LETTERS: usize = 16;

/// How often a run says that it is alive, and looks for those that do not.
const RENEWAL: Duration = Duration::from_millis(if IS_TEST { 200 } else { 1_000 });

/// How long a renewal may take, with connecting.
const RENEWAL_TIME: Duration = Duration::from_millis(if IS_TEST { 1_000 } else { 3_000 });

/// Two renewals that are further apart leave a gap.
const GAP: Duration = Duration::from_millis(if IS_TEST { 1_000 } else { 5_000 });

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

/// Inserts a run.
pub(super) async fn begin(client: &Client, run_id: &str) -> Result<(), tokio_postgres::Error> {
    let insert = with_life("INSERT INTO runs (run_id, expires_at) VALUES ($1, {LIFE})");
    client.execute(&insert, &[&run_id]).await.map(drop)
}

/// Marks the other runs as ended that do not say that they are alive. One of which a transaction is being written is not
/// among them: its row is locked. Ended ones stay for a day, so that their last transaction can be asked for.
async fn reap(client: &Client, run_id: &str) -> Result<(), tokio_postgres::Error> {
    let end = "UPDATE runs SET has_ended = true WHERE run_id IN (
        SELECT run_id FROM runs WHERE NOT has_ended AND expires_at < clock_timestamp() AND run_id <> $1
        FOR UPDATE SKIP LOCKED)";
    client.execute(end, &[&run_id]).await?;
    let forget =
        "DELETE FROM runs WHERE has_ended AND expires_at < clock_timestamp() - interval '1 day'";
    client.execute(forget, &[]).await.map(drop)
}

/// Since when a run has said in time that it is alive, by the clock of this process.
#[derive(Debug, Default)]
struct Steady(Option<(Instant, Instant)>);

impl Steady {
    /// Notes that it was said. Returns whether the others had a whole life to do so as well: after the server was away, all
    /// rows are old, and say nothing of their processes.
    fn renewed(&mut self, now: Instant) -> bool {
        let since = match self.0 {
            Some((since, last)) if now.saturating_duration_since(last) < GAP => since,
            _ => now,
        };
        self.0 = Some((since, now));
        now.saturating_duration_since(since) >= LIFE
    }

    fn failed(&mut self) {
        self.0 = None;
    }
}

/// Says each second that a run is alive, and looks for those that do not.
pub(super) async fn keep_alive(config: PostgresConfig, run: Arc<Run>) {
    let (mut client, mut has_failed) = (None, false);
    let mut steady = Steady::default();
    loop {
        let run_id = run.id();
        let renewal = renew(&config, &mut client, &run_id, &mut steady);
        let failed = match tokio::time::timeout(RENEWAL_TIME, renewal).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(sql::Error::from(error).to_string()),
            Err(_) => Some(format!("no answer for {} s", RENEWAL_TIME.as_secs())),
        };
        if let Some(error) = &failed {
            client = None;
            steady.failed();
            if !has_failed {
                tracing::warn!(%error, database = config.name(), "cannot tell PostgreSQL that this process is alive");
            }
        }
        has_failed = failed.is_some();
        tokio::time::sleep(RENEWAL).await;
    }
}

async fn renew(
    config: &PostgresConfig,
    client: &mut Option<Client>,
    run_id: &str,
    steady: &mut Steady,
) -> Result<(), tokio_postgres::Error> {
    let client = match client {
        Some(client) => client,
        None => client.insert(connect(config).await?),
    };
    let sql = with_life("UPDATE runs SET expires_at = {LIFE} WHERE run_id = $1 AND NOT has_ended");
    if client.execute(&sql, &[&run_id]).await? == 0 {
        // The writer finds out, and goes on as another run.
        steady.failed();
        return Ok(());
    }
    if steady.renewed(Instant::now()) {
        reap(client, run_id).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_declared_dead_only_after_a_whole_life_without_a_gap() {
        let begin = Instant::now();
        let mut steady = Steady::default();
        let mut at = |ms: u64| steady.renewed(begin + Duration::from_millis(ms));
        let life = u64::try_from(LIFE.as_millis()).unwrap();
        let gap = u64::try_from(GAP.as_millis()).unwrap();
        let half = gap / 2;
        let mut now = 0;
        while now < life {
            assert!(!at(now), "{now}");
            now += half;
        }
        assert!(at(now));
        now += gap;
        for _ in 0..life / half {
            assert!(!at(now), "it begins anew after a gap");
            now += half;
        }
        assert!(at(now));
        steady.failed();
        assert!(!steady.renewed(begin + Duration::from_millis(now + 1)));
    }
}

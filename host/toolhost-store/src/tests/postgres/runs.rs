//! Which runs are alive, and what one may do that was declared dead.

use super::*;
use crate::testing::database;

/// A process of its own on the same database.
fn other(database: &Database) -> Store {
    let Database::Postgres(postgres) = database else {
        unreachable!()
    };
    open(&Database::Postgres(Postgres::new(
        postgres.config().clone(),
    )))
}

async fn is_alive(store: &Store, run_id: &str) -> bool {
    let run_id = run_id.to_owned();
    store.read(move |tx| tx.is_alive(&run_id)).await.unwrap()
}

async fn execute(store: &Store, sql: &'static str, run_id: &str) -> usize {
    let run_id = run_id.to_owned();
    store
        .write(move |tx| tx.execute(sql, [&run_id]))
        .await
        .unwrap()
}

async fn eventually(what: &str, mut is_true: impl AsyncFnMut() -> bool) {
    for _ in 0..400 {
        if is_true().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{what}");
}

#[tokio::test]
async fn a_run_is_alive_until_its_last_store_is_closed() {
    let Some(database) = database() else { return };
    let (one, two) = (open(&database), other(&database));
    let joined = open(&database);
    assert_eq!(joined.run_id(), one.run_id(), "one run for each process");
    let run_id = one.run_id();
    assert!(is_alive(&two, &run_id).await && is_alive(&one, &two.run_id()).await);
    assert!(!is_alive(&two, "aaaaaaaaaaaaaaaa").await);
    // Longer than a run lives that is silent.
    tokio::time::sleep(Duration::from_secs(3)).await;
    drop(joined);
    assert!(is_alive(&two, &run_id).await);
    drop(one);
    eventually("the run has ended", async || !is_alive(&two, &run_id).await).await;
}

#[tokio::test]
async fn a_silent_run_is_declared_dead_and_writes_nothing_more_as_that_run() {
    let Some(database) = database() else { return };
    let (paused, two) = (open(&database), other(&database));
    let run_id = paused.run_id();
    // As if its process had been stopped: its time is over, and it does not know.
    let expire =
        "UPDATE runs SET expires_at = clock_timestamp() - interval '1 hour', has_ended = true
        WHERE run_id = ?1";
    assert_eq!(execute(&two, expire, &run_id).await, 1);
    assert!(!is_alive(&two, &run_id).await);
    let as_run = paused.write(|tx| Ok(tx.run_id().to_owned()));
    let as_run = as_run.await.unwrap();
    assert_ne!(*as_run, *run_id);
    assert_eq!(*as_run, *paused.run_id());
    assert!(is_alive(&two, &as_run).await && !is_alive(&two, &run_id).await);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!is_alive(&two, &run_id).await, "it stays dead");
}

#[tokio::test]
async fn whoever_runs_declares_a_silent_run_dead() {
    let Some(database) = database() else { return };
    let store = open(&database);
    let insert = "INSERT INTO runs (run_id, expires_at) VALUES (?1, clock_timestamp() + interval '1 second')";
    execute(&store, insert, "killed").await;
    assert!(is_alive(&store, "killed").await);
    eventually("it is dead", async || !is_alive(&store, "killed").await).await;
}

#[tokio::test]
async fn whoever_has_just_come_declares_nobody_dead() {
    let Some(database) = database() else { return };
    let insert = "INSERT INTO runs (run_id, expires_at) VALUES (?1, clock_timestamp() - interval '1 minute')";
    let store = open(&database);
    execute(&store, insert, "late").await;
    let two = other(&database);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(is_alive(&two, "late").await, "after the server was away");
    eventually("it is dead", async || !is_alive(&two, "late").await).await;
}

#[tokio::test]
async fn a_run_whose_transaction_is_being_written_is_not_declared_dead() {
    let Some(database) = database() else { return };
    let (slow, two) = (open(&database), other(&database));
    let run_id = slow.run_id();
    // Longer than a run lives, in one transaction.
    let work = slow.write(|tx| {
        tx.query_row("SELECT CAST(pg_sleep(2.5) AS TEXT)", (), |row| {
            row.get::<String>(0)
        })?;
        Ok(tx.run_id().to_owned())
    });
    assert_eq!(work.await.unwrap(), *run_id);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(is_alive(&two, &run_id).await);
}

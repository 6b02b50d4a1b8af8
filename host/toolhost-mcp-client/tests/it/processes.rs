//! The processes of servers: their environment, and that none is left.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Place, is_alive, processes_with, until};

/// Set in the process of a test that is to be killed.
const VICTIM: &str = "TOOLHOST_TEST_VICTIM";

async fn none_is_left(pids: &[u64]) {
    until("no process is left", async || {
        !pids.iter().any(|pid| is_alive(*pid))
    })
    .await;
}

async fn children(place: &Place) -> Vec<u64> {
    let output = place.output("srv__children", json!({})).await;
    let pids: Vec<u64> = serde_json::from_value(output["pids"].clone()).unwrap();
    assert!(pids.iter().all(|pid| is_alive(*pid)) && pids.len() == 2);
    pids
}

#[tokio::test]
async fn a_server_has_the_environment_of_its_configuration_alone() {
    let place = Place::new().await;
    let _server = place.start("ok").await;
    let Value::Object(env) = place.output("srv__env", json!({})).await else {
        panic!("no environment");
    };
    // Python sets the locale, if the environment has none.
    let names = env.keys().filter(|name| *name != "LC_CTYPE");
    assert_eq!(names.collect::<Vec<_>>(), ["PATH"]);
}

#[tokio::test]
async fn dropping_a_server_kills_its_whole_process_group() {
    let place = Place::new().await;
    let server = place.start("immortal").await;
    let pids = children(&place).await;
    drop(server);
    none_is_left(&pids).await;
    assert_eq!(place.tools(), Vec::<String>::new());
    let record = place.record();
    let left = processes_with(record.to_str().unwrap());
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn closing_a_server_that_does_not_end_kills_its_whole_process_group() {
    let place = Place::new().await;
    let server = place.start("immortal").await;
    let pids = children(&place).await;
    server.close().await;
    none_is_left(&pids).await;
    assert!(place.recorded().contains("end of input"));
}

#[tokio::test]
async fn a_server_that_is_started_again_leaves_no_process_behind() {
    let place = Place::new().await;
    let _server = place.start("ok").await;
    let pids = children(&place).await;
    place.error("srv__crash", json!({})).await;
    place.recovers().await;
    none_is_left(&pids).await;
}

#[tokio::test]
async fn a_server_that_hangs_at_its_start_leaves_no_process_behind() {
    let place = Place::new().await;
    let limit = Duration::from_millis(700);
    let server = place
        .start_with("hangs", |config| {
            config.limits.start = limit;
            config.limits.backoff_min = Duration::from_secs(60);
            config.limits.backoff_max = Duration::from_secs(60);
        })
        .await;
    let record = place.record();
    until("no process is left", async || {
        processes_with(record.to_str().unwrap()).is_empty()
    })
    .await;
    drop(server);
}

/// Runs in a process of its own, which the test below kills.
#[tokio::test]
async fn victim() {
    let Ok(record) = std::env::var(VICTIM) else {
        return;
    };
    let place = Place::new().await;
    let _server = place
        .start_with("immortal", |config| {
            if let toolhost_mcp_client::McpTransport::Stdio(stdio) = &mut config.transport {
                stdio.args[2] = record;
            }
        })
        .await;
    children(&place).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
}

#[tokio::test]
async fn a_server_does_not_outlive_a_process_that_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("record");
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::victim", "--nocapture"])
        .env(VICTIM, &record)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let recorded = || std::fs::read_to_string(&record).unwrap_or_default();
    until("the server has a child", async || {
        recorded().contains("call children")
    })
    .await;
    let first = recorded();
    let pids: Vec<u64> = first
        .lines()
        .next()
        .unwrap()
        .split(' ')
        .map(|pid| pid.parse().unwrap())
        .collect();
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    victim.kill().unwrap();
    victim.wait().unwrap();
    none_is_left(&pids).await;
    let left = processes_with(record.to_str().unwrap());
    assert!(left.is_empty(), "{left:?}");
}

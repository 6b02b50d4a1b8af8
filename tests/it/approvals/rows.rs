//! Calls that wait are rows: decisions, cancellations and releases at the same time.

use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use toolhost::ToolStatus;
use toolhost::approvals::ApprovalState;
use toolhost_tests::test_host::code;

use super::{Site, ended, write};
use crate::http::server::silent;
use crate::system_failures::host_process::HostProcess;

const FILES: &str = "tools: {files: {ask: effects}}";

/// Waits until something is so, for ten seconds at most.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..2_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never: {what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_was_cancelled_changes_nothing_and_one_that_changes_something_was_not() {
    let site = Site::new();
    let running = site.start(FILES).await;
    let mut cancelled = 0;
    for round in 0..24_u64 {
        let path = format!("{round}.txt");
        let handle = running.held("files__write", write(&path), "workdir").await;
        running.approve().await;
        let polling = {
            let (instance, handle) = (running.instance.clone(), handle.clone());
            tokio::spawn(async move { instance.poll(&handle).await })
        };
        tokio::time::sleep(Duration::from_micros(round * 100)).await;
        let answer = running.instance.cancel(&handle).await;
        let polled = polling.await.unwrap();
        let result = ended(&running.instance, &handle).await;
        let is_cancelled = result.tool_error().is_some();
        cancelled += usize::from(is_cancelled);
        if is_cancelled {
            assert_eq!(code(&result), "E_TOOL_CANCELLED");
            assert_eq!(site.work(&path), None, "round {round}");
            assert_ne!(polled.status(), ToolStatus::Ok);
        } else {
            assert_eq!(site.work(&path).as_deref(), Some("new\n"), "round {round}");
            assert_eq!(answer.tool_error(), None, "it was not acknowledged");
        }
        assert_eq!(answer.tool_error().is_some(), is_cancelled, "{answer:?}");
    }
    eprintln!("{cancelled} of 24 were cancelled");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_takes_long_delays_no_other_one() {
    let server = silent();
    let site = Site::new();
    let origin = format!("{}/*", server.origin());
    let policy = json!({"tools": {
        "web": {"http": {"allow": [origin]}, "ask": "effects"}, "files": {"ask": "effects"},
    }});
    let running = site.start(&policy.to_string()).await;
    let send = json!({"url": format!("{}/a", server.origin()), "method": "POST", "body": "b"});
    let slow = running.held("web__run", send, "http").await;
    running.approve().await;
    until("the request is sent", || server.accepted() == 1).await;
    running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    running.approve().await;
    until("the file is there", || site.work("a.txt").is_some()).await;
    // It could be cancelled all the time, as it runs.
    let cancelled = running.instance.cancel(&slow).await;
    assert_eq!(code(&cancelled), "E_TOOL_CANCELLED");
    until("the request is given up", || server.open() == 0).await;
}

#[tokio::test]
async fn what_nobody_waits_for_any_more_is_removed_by_the_next_call_that_waits() {
    let site = Site::new();
    let expiry = Duration::from_millis(20);
    let start = || site.start_with(site.builder(FILES).pending_expiry(expiry));
    let running = start().await;
    let handle = running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    drop(running);
    let left = site.staged();
    assert_eq!(left.len(), 1);
    tokio::time::sleep(3 * expiry).await;
    let running = start().await;
    running
        .held("files__write", write("b.txt"), "workdir")
        .await;
    assert!(!site.staged().contains(&left[0]), "{left:?}");
    let polled = running.instance.poll(&handle).await;
    assert_eq!(code(&polled), "E_TOOL_UNKNOWN_HANDLE");
    assert_eq!(site.names(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_decisions_of_two_processes_at_once_one_counts() {
    let site = Site::new();
    let running = site.start(FILES).await;
    for round in 0..4 {
        let path = format!("{round}.txt");
        let handle = running.held("files__write", write(&path), "workdir").await;
        let id = running.waiting().await.id;
        let mut other = HostProcess::after("true");
        other.must(json!({"op": "start", "state": site.path("state"), "policy": FILES}));
        other.post(&json!({"op": "decide", "id": id, "times": 10}));
        let mut deciding = JoinSet::new();
        for number in 0..10 {
            let (approvals, id) = (running.approvals(), id.clone());
            deciding.spawn(async move {
                let by = format!("here {number}");
                let decided = if number % 2 == 0 {
                    approvals.approve(&id, &by, None).await
                } else {
                    approvals.deny(&id, &by, None).await
                };
                (by, decided.map(drop).map_err(|error| error.to_string()))
            });
        }
        let mut all = deciding.join_all().await;
        let there: Vec<(String, Option<String>)> = serde_json::from_value(other.next()).unwrap();
        let there = there
            .into_iter()
            .map(|(by, error)| (by, error.map_or(Ok(()), Err)));
        all.extend(there);
        assert_eq!(all.len(), 20);
        let (counts, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, it)| it.is_ok());
        assert_eq!(counts.len(), 1, "{counts:?}");
        let first = format!(", by {} at ", counts[0].0);
        for (_, error) in others {
            let error = error.unwrap_err();
            assert!(error.contains(&first), "{error}");
        }
        let decided = running.approvals().get(&id).await.unwrap();
        let is_approved = decided.state == ApprovalState::Approved;
        let result = ended(&running.instance, &handle).await;
        assert_eq!(result.tool_error().is_none(), is_approved, "{result:?}");
        assert_eq!(site.work(&path).is_some(), is_approved);
    }
}

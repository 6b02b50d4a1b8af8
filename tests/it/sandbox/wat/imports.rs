//! Guests in text that call the host in ways no compiler does.

use std::time::{Duration, Instant};

use toolhost_sandbox::{PrepareError, SandboxError};
use toolhost_tests::{eventually, invocation, nothing};

use super::{LATE, assert_idle, own, text};

/// A component of a guest that takes these from the host, beside the memory it shares with it.
fn component(guest: &str, taken: &[&str], changes: &[(&str, &str)]) -> Vec<u8> {
    let exports: String = taken
        .iter()
        .map(|name| format!("(export \"{name}\" (func ${name}))"))
        .collect();
    let instantiate = format!(
        "(instantiate $guest (with \"host\" (instance {exports})) (with \"memory\" (instance $memory)))"
    );
    let mut guest = text(guest);
    for (mark, change) in changes {
        assert!(guest.contains(mark), "{mark}");
        guest = guest.replace(mark, change);
    }
    let whole = text("tool")
        .replace("(instantiate $guest)", &instantiate)
        .replace("  ;; GUEST\n", &guest);
    wat::parse_str(whole).unwrap()
}

/// Logs 16 MB so many times in a row when it is called, or when it is asked what it serves.
fn straight_line(describe: bool) -> Vec<u8> {
    let log = "(call $log (local.get $none) (local.get $none) (local.get $none) \
               (local.get $at) (local.get $length))\n";
    let describe = if describe { "(call $log_often)" } else { "" };
    let changes = [
        (";; CALLS", &*log.repeat(20_000)),
        (";; DESCRIBE", describe),
    ];
    component("straight_line", &["log"], &changes)
}

#[tokio::test]
async fn host_calls_in_a_row_are_stopped_at_the_deadline_and_let_others_run() {
    let own = own();
    let (tool, _) = own.prepare(straight_line(false)).await.unwrap();
    let mut asked = invocation("run", &nothing(), None);
    asked.limits.deadline = Duration::from_millis(300);
    asked.limits.hostcall_bytes = 32 << 20;
    let started = Instant::now();
    let mut ticks = 0;
    let report = {
        let mut call = Box::pin(tool.call(asked.clone()));
        loop {
            // The caller has one thread.
            tokio::select! {
                report = &mut call => break report,
                () = tokio::time::sleep(Duration::from_millis(10)) => ticks += 1,
            }
        }
    };
    assert!(
        matches!(report.outcome, Err(SandboxError::Timeout { .. })),
        "{report:?}"
    );
    assert!(started.elapsed() < LATE, "{:?}", started.elapsed());
    assert!(ticks > 5, "the caller's own timer came {ticks} times");
    assert_idle(&own);

    // Dropped, it ends too.
    asked.limits.deadline = Duration::from_secs(600);
    let dropped = tokio::time::timeout(Duration::from_millis(50), tool.call(asked)).await;
    assert!(dropped.is_err());
    eventually("its place is free", || own.free_places() == 4).await;
}

#[tokio::test]
async fn a_description_of_host_calls_in_a_row_is_stopped_too() {
    let started = Instant::now();
    let refused = own().prepare(straight_line(true)).await.unwrap_err();
    assert!(
        matches!(
            refused,
            PrepareError::Describe(SandboxError::Timeout { .. })
        ),
        "{refused:?}"
    );
    assert!(started.elapsed() < 2 * LATE, "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_poll_list_is_no_longer_than_there_may_be_handles() {
    let own = own();
    // The pollable itself is a handle too.
    for (length, expected) in [
        ("900", "deadline"),
        ("1000", "handle limit"),
        ("1398000", "handle limit"),
    ] {
        let guest = component("poll_list", &["subscribe", "poll"], &[("LENGTH", length)]);
        let (tool, _) = own.prepare(guest).await.unwrap();
        let mut asked = invocation("run", &nothing(), None);
        asked.limits.deadline = Duration::from_millis(200);
        let error = tool.call(asked).await.outcome.unwrap_err();
        assert!(error.to_string().contains(expected), "{length}: {error}");
        assert_idle(&own);
    }
}

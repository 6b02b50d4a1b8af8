//! WAT guests that call the host in ways that compilers do not.

use std::time::{Duration, Instant};

use toolhost_sandbox::{PrepareError, SandboxError};
use toolhost_tests::{eventually, invocation, nothing};

use super::{LATE, assert_idle, small_sandbox, text};

/// Returns the component of a guest that imports these functions of the host and a shared memory.
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

/// Returns a guest that logs 16 MB 20,000 times without a loop, in `call` or in `describe`.
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
async fn the_deadline_stops_consecutive_host_calls_and_the_caller_keeps_running() {
    let sandbox = small_sandbox();
    let (tool, _) = sandbox.prepare(straight_line(false)).await.unwrap();
    let mut call = invocation("run", &nothing(), None);
    call.limits.deadline = Duration::from_millis(300);
    call.limits.hostcall_bytes = 32 << 20;
    let started = Instant::now();
    let mut ticks = 0;
    let report = {
        let mut call = Box::pin(tool.call(call.clone()));
        loop {
            // The runtime of the caller has one thread.
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
    assert!(ticks > 5, "the caller's timer fired {ticks} times");
    assert_idle(&sandbox);

    // Dropping the call stops it too.
    call.limits.deadline = Duration::from_secs(600);
    let dropped = tokio::time::timeout(Duration::from_millis(50), tool.call(call)).await;
    assert!(dropped.is_err());
    eventually("the slot is free", || sandbox.free_call_slots() == 4).await;
}

#[tokio::test]
async fn the_describe_deadline_stops_consecutive_host_calls() {
    let started = Instant::now();
    let refused = small_sandbox()
        .prepare(straight_line(true))
        .await
        .unwrap_err();
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
async fn the_length_of_a_poll_list_is_limited_by_the_handle_limit() {
    let sandbox = small_sandbox();
    // The pollable counts as a handle too.
    for (length, expected) in [
        ("900", "deadline"),
        ("1000", "handle limit"),
        ("1398000", "handle limit"),
    ] {
        let guest = component("poll_list", &["subscribe", "poll"], &[("LENGTH", length)]);
        let (tool, _) = sandbox.prepare(guest).await.unwrap();
        let mut call = invocation("run", &nothing(), None);
        call.limits.deadline = Duration::from_millis(200);
        let error = tool.call(call).await.outcome.unwrap_err();
        assert!(error.to_string().contains(expected), "{length}: {error}");
        assert_idle(&sandbox);
    }
}

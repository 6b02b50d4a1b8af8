//! Deadlines and cancellation, in every state that a call can be in.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolhost_sandbox::{Outcome, PreparedTool, Sandbox, SandboxError};
use toolhost_tests::{Work, eventually, guest, invocation, nothing, own_sandbox};

use super::output;
use super::wat::{component, small_sandbox};

/// Largest delay of an answer on a busy machine. One `memory.fill` of 256 MiB cannot be
/// interrupted and takes about 0.1 s.
const LATE: Duration = Duration::from_secs(5);

/// A guest, its handler and its input.
type EndlessCall = (&'static str, &'static str, fn() -> Value);

/// Calls that do not end, by the state in which they are. A guest that ends with `.wat` is text.
const ENDLESS: [EndlessCall; 13] = [
    ("guest code", "spin_forever", nothing),
    ("start", "slow_start.wat", nothing),
    ("cabi_realloc", "loop_in_realloc.wat", nothing),
    ("post-return", "loop_in_post_return.wat", nothing),
    ("memory.fill", "fill_memory.wat", nothing),
    ("memory.copy", "copy_memory.wat", nothing),
    ("table.fill", "fill_table.wat", nothing),
    (
        "writes",
        "write_bytes",
        || json!({"bytes": 1_u64 << 40, "chunk": 64}),
    ),
    (
        "writes to stdout",
        "flood_stdout",
        || json!({"bytes": 1_u64 << 40}),
    ),
    ("a sleep of 10^9 s", "sleep_forever", nothing),
    (
        "a sleep of 2^64 ns",
        "poll_storm",
        || json!({"kind": "never"}),
    ),
    (
        "polls of ready handles",
        "poll_storm",
        || json!({"kind": "due"}),
    ),
    (
        "polls of nine hundred handles",
        "poll_storm",
        || json!({"kind": "many", "count": 900}),
    ),
];

async fn prepared(sandbox: &Sandbox, name: &str) -> PreparedTool {
    let bytes = match name.strip_suffix(".wat") {
        Some(text) => component(text, ""),
        None => guest(name),
    };
    sandbox.prepare(bytes).await.unwrap().0
}

fn assert_idle(sandbox: &Sandbox, places: usize) {
    assert_eq!(
        (sandbox.free_call_slots(), sandbox.waiting_calls()),
        (places, 0)
    );
    assert_eq!(sandbox.memory_in_use(), 0);
}

#[tokio::test]
async fn the_deadline_stops_a_call_in_every_state() {
    let sandbox = own_sandbox(|_| ());
    let places = sandbox.free_call_slots();
    let deadline = Duration::from_millis(60);
    for (state, name, input) in ENDLESS {
        let tool = prepared(&sandbox, name).await;
        let work = Work::new();
        let mut call = invocation("run", &input(), Some(&work));
        call.limits.deadline = deadline;
        let started = Instant::now();
        let report = tool.call(call).await;
        let took = started.elapsed();
        assert!(
            matches!(report.outcome, Err(SandboxError::Timeout { .. })),
            "{state}: {:?}",
            report.outcome
        );
        eprintln!("{state}: {} ms late", (took - deadline).as_millis());
        assert!(took < deadline + LATE, "{state}: {took:?}");
        assert_idle(&sandbox, places);
    }
}

#[tokio::test]
async fn dropping_a_call_stops_it_in_every_state() {
    let sandbox = own_sandbox(|_| ());
    let places = sandbox.free_call_slots();
    for (state, name, input) in ENDLESS {
        let tool = prepared(&sandbox, name).await;
        let work = Work::new();
        let call = invocation("run", &input(), Some(&work));
        let call = tokio::spawn(async move { tool.call(call).await });
        eventually("the guest runs", || sandbox.memory_in_use() > 0).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
        call.abort();
        let dropped = call.await;
        assert!(dropped.is_err() || name == "slow_start.wat", "{state}");
        eventually(state, || sandbox.free_call_slots() == places).await;
        assert_idle(&sandbox, places);
    }
}

#[tokio::test]
async fn waiting_in_the_queue_does_not_count_towards_the_deadline() {
    let sandbox = own_sandbox(|config| config.live_calls = 1);
    let sleep = prepared(&sandbox, "sleep_forever").await;
    let call = |seconds: f64, deadline: u64| {
        let mut call = invocation("run", &json!({"seconds": seconds}), None);
        call.limits.deadline = Duration::from_millis(deadline);
        call
    };
    let (first, second) = tokio::join!(sleep.call(call(0.6, 30_000)), sleep.call(call(0.01, 400)),);
    assert!(first.outcome.is_ok(), "{first:?}");
    assert_eq!(output(&second)["slept"], 0.01);
    assert!(
        second.usage.queued >= Duration::from_millis(500),
        "{second:?}"
    );
    assert!(second.usage.wall < Duration::from_millis(400), "{second:?}");
    assert_idle(&sandbox, 1);
}

#[tokio::test]
async fn a_call_dropped_in_the_queue_never_runs() {
    let sandbox = own_sandbox(|config| config.live_calls = 1);
    let (sleep, write) = (
        prepared(&sandbox, "sleep_forever").await,
        prepared(&sandbox, "write_bytes").await,
    );
    let work = Work::new();
    let holds = tokio::spawn(async move { sleep.call(invocation("run", &nothing(), None)).await });
    eventually("the slot is taken", || sandbox.free_call_slots() == 0).await;
    let call = invocation("run", &json!({"bytes": 1}), Some(&work));
    let again = call.clone();
    let waits = tokio::spawn({
        let write = write.clone();
        async move { write.call(call).await }
    });
    eventually("the call waits", || sandbox.waiting_calls() == 1).await;
    waits.abort();
    eventually("the queue is empty", || sandbox.waiting_calls() == 0).await;
    holds.abort();
    eventually("the slot is free", || sandbox.free_call_slots() == 1).await;
    assert_idle(&sandbox, 1);
    assert!(!work.path("f").exists());
    let report = write.call(again).await;
    assert_eq!(output(&report)["written"], 1);
    assert!(work.path("f").exists());
}

#[tokio::test]
async fn the_number_of_polled_handles_is_limited() {
    let sandbox = small_sandbox();
    let tool = prepared(&sandbox, "poll_storm").await;
    let once = async |count: u64| {
        let input = json!({"kind": "once", "count": count});
        tool.call(invocation("run", &input, None)).await.outcome
    };
    assert_eq!(
        once(900).await.unwrap(),
        Outcome::Output(json!({"ready": 900}))
    );
    // More than the handle limit, the host-call byte limit, and the memory limit.
    for count in [1_001, 20_000_000, 100_000_000] {
        let outcome = once(count).await;
        assert!(
            matches!(
                outcome,
                Err(SandboxError::Trap { .. }
                    | SandboxError::HostcallTooLarge { .. }
                    | SandboxError::OutOfMemory { .. })
            ),
            "{count}: {outcome:?}"
        );
    }
    let none = tool
        .call(invocation("run", &json!({"kind": "none"}), None))
        .await;
    assert!(
        matches!(none.outcome, Err(SandboxError::Trap { .. })),
        "{none:?}"
    );
    assert_idle(&sandbox, 4);
}

#[test]
fn endless_polling_does_not_block_a_single_threaded_caller() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let sandbox = small_sandbox();
        let (storm, echo) = (
            prepared(&sandbox, "poll_storm").await,
            prepared(&sandbox, "echo").await,
        );
        let mut call = invocation("run", &json!({"kind": "due"}), None);
        call.limits.deadline = Duration::from_millis(1500);
        let storming = tokio::spawn(async move { storm.call(call).await });
        tokio::task::yield_now().await;
        for _ in 0..20 {
            let report = echo.call(invocation("say", &json!({"a": 1}), None)).await;
            assert_eq!(output(&report)["a"], 1);
        }
        assert!(!storming.is_finished());
        let report = storming.await.unwrap();
        assert!(matches!(report.outcome, Err(SandboxError::Timeout { .. })));
    });
}

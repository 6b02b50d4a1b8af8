//! Deadlines and cancels, wherever a call happens to be.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolhost_sandbox::{Outcome, PreparedTool, Sandbox, SandboxError};
use toolhost_tests::{Work, eventually, guest, invocation, nothing, own_sandbox};

use super::output;
use super::wat::{component, own};

/// How late an answer may be on a busy machine. One `memory.fill` of 256 MiB, which nothing
/// interrupts, takes some 0.1 s.
const LATE: Duration = Duration::from_secs(5);

/// A guest, its handler, and what it is asked.
type Asked = (&'static str, &'static str, fn() -> Value);

/// Where a call is that does not end: a guest (`.wat`: in text) and what it is asked.
const ENDLESS: [Asked; 13] = [
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
        "polls of what is due",
        "poll_storm",
        || json!({"kind": "due"}),
    ),
    (
        "polls of nine hundred",
        "poll_storm",
        || json!({"kind": "many", "count": 900}),
    ),
];

async fn prepared(own: &Sandbox, name: &str) -> PreparedTool {
    let bytes = match name.strip_suffix(".wat") {
        Some(text) => component(text, ""),
        None => guest(name),
    };
    own.prepare(bytes).await.unwrap().0
}

fn assert_idle(own: &Sandbox, places: usize) {
    assert_eq!((own.free_places(), own.waiting_calls()), (places, 0));
    assert_eq!(own.memory_in_use(), 0);
}

#[tokio::test]
async fn a_call_is_stopped_at_its_deadline_wherever_it_is() {
    let own = own_sandbox(|_| ());
    let places = own.free_places();
    let deadline = Duration::from_millis(60);
    for (state, name, input) in ENDLESS {
        let tool = prepared(&own, name).await;
        let work = Work::new();
        let mut asked = invocation("run", &input(), Some(&work));
        asked.limits.deadline = deadline;
        let started = Instant::now();
        let report = tool.call(asked).await;
        let took = started.elapsed();
        assert!(
            matches!(report.outcome, Err(SandboxError::Timeout { .. })),
            "{state}: {:?}",
            report.outcome
        );
        eprintln!("{state}: {} ms late", (took - deadline).as_millis());
        assert!(took < deadline + LATE, "{state}: {took:?}");
        assert_idle(&own, places);
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_is_gone_wherever_it_is() {
    let own = own_sandbox(|_| ());
    let places = own.free_places();
    for (state, name, input) in ENDLESS {
        let tool = prepared(&own, name).await;
        let work = Work::new();
        let asked = invocation("run", &input(), Some(&work));
        let call = tokio::spawn(async move { tool.call(asked).await });
        eventually("the guest runs", || own.memory_in_use() > 0).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
        call.abort();
        let dropped = call.await;
        assert!(dropped.is_err() || name == "slow_start.wat", "{state}");
        eventually(state, || own.free_places() == places).await;
        assert_idle(&own, places);
    }
}

#[tokio::test]
async fn a_call_in_the_line_does_not_use_up_its_deadline() {
    let own = own_sandbox(|config| config.live_calls = 1);
    let sleep = prepared(&own, "sleep_forever").await;
    let asked = |seconds: f64, deadline: u64| {
        let mut asked = invocation("run", &json!({"seconds": seconds}), None);
        asked.limits.deadline = Duration::from_millis(deadline);
        asked
    };
    let (first, second) =
        tokio::join!(sleep.call(asked(0.6, 30_000)), sleep.call(asked(0.01, 400)),);
    assert!(first.outcome.is_ok(), "{first:?}");
    assert_eq!(output(&second)["slept"], 0.01);
    assert!(
        second.usage.queued >= Duration::from_millis(500),
        "{second:?}"
    );
    assert!(second.usage.wall < Duration::from_millis(400), "{second:?}");
    assert_idle(&own, 1);
}

#[tokio::test]
async fn a_call_that_is_dropped_in_the_line_never_ran() {
    let own = own_sandbox(|config| config.live_calls = 1);
    let (sleep, write) = (
        prepared(&own, "sleep_forever").await,
        prepared(&own, "write_bytes").await,
    );
    let work = Work::new();
    let holds = tokio::spawn(async move { sleep.call(invocation("run", &nothing(), None)).await });
    eventually("the place is taken", || own.free_places() == 0).await;
    let asked = invocation("run", &json!({"bytes": 1}), Some(&work));
    let again = asked.clone();
    let waits = tokio::spawn({
        let write = write.clone();
        async move { write.call(asked).await }
    });
    eventually("it waits", || own.waiting_calls() == 1).await;
    waits.abort();
    eventually("it waits no longer", || own.waiting_calls() == 0).await;
    holds.abort();
    eventually("the place is free", || own.free_places() == 1).await;
    assert_idle(&own, 1);
    assert!(!work.path("f").exists());
    let report = write.call(again).await;
    assert_eq!(output(&report)["written"], 1);
    assert!(work.path("f").exists());
}

#[tokio::test]
async fn what_is_polled_is_bounded() {
    let own = own();
    let tool = prepared(&own, "poll_storm").await;
    let once = async |count: u64| {
        let input = json!({"kind": "once", "count": count});
        tool.call(invocation("run", &input, None)).await.outcome
    };
    assert_eq!(
        once(900).await.unwrap(),
        Outcome::Output(json!({"ready": 900}))
    );
    // More than there may be handles, than may be passed at once, and than there is memory for.
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
    assert_idle(&own, 4);
}

#[test]
fn polls_without_end_leave_a_single_threaded_caller_alone() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let own = own();
        let (storm, echo) = (
            prepared(&own, "poll_storm").await,
            prepared(&own, "echo").await,
        );
        let mut asked = invocation("run", &json!({"kind": "due"}), None);
        asked.limits.deadline = Duration::from_millis(1500);
        let storming = tokio::spawn(async move { storm.call(asked).await });
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

//! More concurrent calls than can run.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use toolhost::{Host, Sandbox, Step, ToolResult};
use toolhost_tests::test_host::{code, open_step, tool_call_of, write_bundle, yaml};
use toolhost_tests::{eventually, own_sandbox};

const CALLS: usize = 10_000;

/// Returns a step and the directory of its bundle, which is removed when dropped.
async fn step(own: &Sandbox, work: &std::path::Path) -> (tempfile::TempDir, Arc<Step>) {
    let tools: &[toolhost_tests::test_host::TestTool<'_>] = &[
        ("echo", "echo", &["say", "context"]),
        ("sleep", "sleep_forever", &["run"]),
    ];
    let bundle = tempfile::tempdir().unwrap();
    write_bundle(bundle.path(), &yaml(tools), &["echo", "sleep_forever"]);
    let host = Host::builder().sandbox(own.clone()).build().unwrap();
    let loaded = host.load(bundle.path()).await.unwrap();
    let workdir = host.workdir(work).unwrap();
    let step = open_step(&loaded.only_agent().unwrap(), "instance", &workdir).await;
    (bundle, Arc::new(step))
}

/// Runs all calls concurrently; returns the results with their numbers in the order of completion.
async fn at_once(
    step: &Arc<Step>,
    call: impl Fn(usize) -> (&'static str, Value),
) -> Vec<(usize, ToolResult)> {
    let calls = (0..CALLS).map(|n| {
        let (name, args) = call(n);
        let (step, call) = (
            Arc::clone(step),
            tool_call_of(&format!("call-{n}"), name, args),
        );
        tokio::spawn(async move { (n, step.execute_without_message(call).await) })
    });
    let mut results = Vec::with_capacity(CALLS);
    for call in calls.collect::<Vec<_>>() {
        results.push(call.await.unwrap());
    }
    results
}

async fn assert_given_back(own: &Sandbox, places: usize) {
    eventually("every slot is free", || own.free_call_slots() == places).await;
    assert_eq!((own.waiting_calls(), own.memory_in_use()), (0, 0));
}

/// Returns a different time for each call, in seconds: `least`, and 100 ns for each call before it.
fn own_time(n: usize, least: f64) -> f64 {
    least + n as f64 * 1e-7
}

/// Whether a call slept for its own time. JSON loses the last bit of a number.
fn slept_its_own(output: &Value, n: usize, least: f64) -> bool {
    let slept = output["slept"].as_f64().unwrap_or_default();
    (slept - own_time(n, least)).abs() < 1e-8
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_concurrent_calls_each_get_their_own_result() {
    let own = own_sandbox(|_| ());
    let (places, work) = (own.free_call_slots(), tempfile::tempdir().unwrap());
    let (_bundle, step) = step(&own, work.path()).await;
    let call = |n: usize| match n % 3 {
        0 => ("echo__say", json!({"n": n})),
        1 => ("echo__context", json!({})),
        _ => ("sleep__run", json!({"seconds": own_time(n, 0.02)})),
    };
    let results = at_once(&step, call).await;
    assert_eq!(results.len(), CALLS);
    for (n, result) in results {
        assert_eq!(result.tool_call_id(), format!("call-{n}"));
        assert_eq!(result.tool_name(), call(n).0);
        let output = result.output().unwrap_or_else(|| panic!("{result:?}"));
        match n % 3 {
            0 => assert_eq!(output["n"], n),
            1 => assert_eq!(output["toolCallId"], format!("call-{n}")),
            _ => assert!(slept_its_own(output, n, 0.02), "{result:?}"),
        }
    }
    assert_given_back(&own, places).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_beyond_a_full_queue_get_a_busy_error_and_the_rest_are_answered() {
    const RUNNING: usize = 250;
    const WAITING: usize = 1_000;
    let own = own_sandbox(|config| {
        config.live_calls = RUNNING as u32;
        config.waiting_calls = WAITING;
        // One tool can take every slot.
        config.share_per_free = u32::MAX;
    });
    let work = tempfile::tempdir().unwrap();
    let (_bundle, step) = step(&own, work.path()).await;
    // Long enough that fewer than one in ten of the remaining calls finds a slot.
    let call = |n: usize| ("sleep__run", json!({"seconds": own_time(n, 1.0)}));
    let results = at_once(&step, call).await;
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for (n, result) in &results {
        assert_eq!(result.tool_call_id(), format!("call-{n}"));
        let end = match result.output() {
            Some(output) => {
                assert!(slept_its_own(output, *n, 1.0), "{result:?}");
                "ok".to_owned()
            }
            None => code(result),
        };
        *ends.entry(end).or_default() += 1;
    }
    let (ok, busy) = (ends["ok"], ends["E_TOOL_BUSY"]);
    assert_eq!(ok + busy, CALLS, "{ends:?}");
    assert!(ok >= RUNNING + WAITING, "{ends:?}");
    assert!(busy > CALLS / 2, "{ends:?}");
    assert_given_back(&own, RUNNING).await;
    let again = step
        .execute_without_message(tool_call_of("again", "echo__say", json!({})))
        .await;
    assert!(again.output().is_some(), "{again:?}");
}

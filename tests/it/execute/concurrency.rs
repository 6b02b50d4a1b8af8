//! More concurrent calls than can run.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use toolhost::{Host, Sandbox, ToolResult};
use toolhost_tests::test_host::{TestHost, TestTool, code, tool_call_of};
use toolhost_tests::{eventually, own_sandbox};

const CALLS: usize = 10_000;

async fn test_host(own: &Sandbox) -> Arc<TestHost> {
    let host = Host::builder().sandbox(own.clone()).build().unwrap();
    let tools: &[TestTool<'_>] = &[
        ("echo", "echo", &["say", "context"]),
        ("sleep", "sleep_forever", &["run"]),
    ];
    Arc::new(TestHost::with_tools_in(host, tools).await)
}

/// Runs all calls concurrently; returns the results with their numbers in the order of completion.
async fn at_once(
    test_host: &Arc<TestHost>,
    call: impl Fn(usize) -> (&'static str, Value),
) -> Vec<(usize, ToolResult)> {
    let calls = (0..CALLS).map(|n| {
        let (name, args) = call(n);
        let call = tool_call_of(&format!("call-{n}"), name, args);
        let test_host = Arc::clone(test_host);
        tokio::spawn(async move { (n, test_host.step.execute_without_message(call).await) })
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
    let places = own.free_call_slots();
    let test_host = test_host(&own).await;
    let call = |n: usize| match n % 3 {
        0 => ("echo__say", json!({"n": n})),
        1 => ("echo__context", json!({})),
        _ => ("sleep__run", json!({"seconds": own_time(n, 0.02)})),
    };
    let results = at_once(&test_host, call).await;
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
    let test_host = test_host(&own).await;
    // Long enough that fewer than one in ten of the remaining calls finds a slot.
    let call = |n: usize| ("sleep__run", json!({"seconds": own_time(n, 1.0)}));
    let results = at_once(&test_host, call).await;
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
    let again = test_host.call("echo__say", json!({})).await;
    assert!(again.output().is_some(), "{again:?}");
}

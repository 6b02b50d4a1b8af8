//! 10,000 calls at once.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolhost::{Host, Step, ToolStatus};
use toolhost_tests::process_usage::ProcessUsage;
use toolhost_tests::test_host::open_step;
use toolhost_tests::{own_sandbox, root};

use super::row::{ScaleRow, mib, rss, seconds_since};
use crate::measure::call;
use crate::peers::spread::micros;

const CALLS: usize = 10_000;

pub(super) fn measure(runtime: &Runtime) -> Vec<ScaleRow> {
    let host = Host::builder()
        .sandbox(own_sandbox(|_| ()))
        .build()
        .unwrap();
    let work = tempfile::tempdir().unwrap();
    let open = |bundle: &str| {
        let loaded = host.load(root("guest-examples").join(bundle));
        let agent = runtime.block_on(loaded).unwrap().only_agent().unwrap();
        let workdir = host.workdir(work.path()).unwrap();
        Arc::new(runtime.block_on(open_step(&agent, "bench", &workdir)))
    };
    let (echo, wait) = (open("."), open("base"));
    vec![
        at_once(
            runtime,
            &echo,
            "echo__say",
            json!({"text": "hello"}),
            "an echo",
        ),
        at_once(
            runtime,
            &wait,
            "wait__seconds",
            json!({"seconds": 0.1}),
            "a wait of 100 ms",
        ),
    ]
}

/// Starts all calls, and waits for all of them.
fn at_once(runtime: &Runtime, step: &Arc<Step>, tool: &str, args: Value, title: &str) -> ScaleRow {
    let call = call(tool, args);
    let before = rss();
    let started = Instant::now();
    let results = runtime.block_on(async {
        let execute = |_| {
            let (step, call) = (Arc::clone(step), call.clone());
            tokio::spawn(async move {
                let result = step.execute_without_message(call).await;
                (result.status(), started.elapsed())
            })
        };
        let calls: Vec<_> = (0..CALLS).map(execute).collect();
        let mut results = Vec::new();
        for call in calls {
            results.push(call.await.unwrap());
        }
        results
    });
    let took = seconds_since(started);
    let ok = results
        .iter()
        .filter(|(status, _)| *status == ToolStatus::Ok)
        .count();
    let mut latencies: Vec<_> = results.iter().map(|(_, latency)| *latency).collect();
    latencies.sort_unstable();
    let percentile = |percent: usize| micros(latencies[CALLS * percent / 100].as_secs_f64() * 1e6);
    let peak = ProcessUsage::now().peak;
    ScaleRow {
        name: format!("10,000 calls at once, each {title}"),
        result: format!(
            "{ok} ok, {} lost, after {took}; p50 {}, p99 {} since the start of all; \
             resident memory {} before, at most {}",
            CALLS - ok,
            percentile(50),
            percentile(99),
            mib(before),
            mib(peak),
        ),
    }
}

//! A component that is replaced while calls run.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolhost_tests::eventually;
use toolhost_tests::test_host::{open_step, tool_call, tool_call_of};

use super::{Fixture, builder, replace_component, tool};

/// The first component sleeps, and returns `{slept}`; the second returns `output`.
fn args(seconds: f64) -> Value {
    json!({"seconds": seconds, "output": "{\"second\": true}"})
}

async fn fixture() -> Fixture {
    let manifest = tool("t", "t", "run", "x");
    let host = builder().build().unwrap();
    Fixture::load_files(host, &manifest, &[("t", "sleep_forever")]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_run_when_a_component_is_replaced_end_on_the_old_one() {
    let fixture = fixture().await;
    let agent = fixture.agent();
    let step = Arc::new(open_step(&agent, "key", &fixture.work.workdir).await);
    let slots = agent_slots(&fixture);
    let start = |n: usize| {
        let (step, call) = (
            Arc::clone(&step),
            tool_call_of(&format!("call-{n}"), "t__run", args(0.5)),
        );
        tokio::spawn(async move { step.execute_without_message(call).await })
    };
    let running: Vec<_> = (0..100).map(start).collect();
    eventually("calls run", || agent_slots(&fixture) < slots).await;
    replace_component(&fixture.path("t.wasm"), "echo_raw");
    fixture.live.reload().await.unwrap();
    assert!(running.iter().any(|call| !call.is_finished()));
    let result = fixture.call("t__run", args(0.5)).await;
    assert_eq!(result.output(), Some(&json!({"second": true})));
    for (n, call) in running.into_iter().enumerate() {
        let result = call.await.unwrap();
        assert_eq!(result.tool_call_id(), format!("call-{n}"));
        assert_eq!(result.output(), Some(&json!({"slept": 0.5})), "{result:?}");
    }
}

fn agent_slots(fixture: &Fixture) -> usize {
    fixture.live.current().host().sandbox().free_call_slots()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_is_lost_or_mixed_up_while_a_component_is_replaced_again_and_again() {
    let fixture = Arc::new(fixture().await);
    let digest = |fixture: &Fixture| fixture.live.current().components()[0].1.sha256.clone();
    let mut outputs = HashMap::from([(digest(&fixture), json!({"slept": 0.01}))]);
    replace_component(&fixture.path("t.wasm"), "echo_raw");
    fixture.live.reload().await.unwrap();
    outputs.insert(digest(&fixture), json!({"second": true}));
    let outputs = Arc::new(outputs);
    let callers: Vec<_> = (0..20)
        .map(|_| {
            let (fixture, outputs) = (Arc::clone(&fixture), Arc::clone(&outputs));
            tokio::spawn(async move {
                let mut seen = Vec::new();
                for _ in 0..20 {
                    let bundle = fixture.live.current();
                    let digest = bundle.components()[0].1.sha256.clone();
                    let agent = bundle.only_agent().unwrap();
                    let step = open_step(&agent, "key", &fixture.work.workdir).await;
                    let call = tool_call("t__run", args(0.01));
                    let result = step.execute_without_message(call).await;
                    assert_eq!(result.output(), outputs.get(&digest), "{result:?}");
                    seen.push(digest);
                }
                seen
            })
        })
        .collect();
    for round in 0..20 {
        let name = ["sleep_forever", "echo_raw"][round % 2];
        replace_component(&fixture.path("t.wasm"), name);
        fixture.live.reload().await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut seen: HashMap<String, usize> = HashMap::new();
    for caller in callers {
        for digest in caller.await.unwrap() {
            *seen.entry(digest).or_default() += 1;
        }
    }
    assert_eq!(seen.values().sum::<usize>(), 400);
    assert_eq!(seen.len(), 2, "both components served calls: {seen:?}");
}

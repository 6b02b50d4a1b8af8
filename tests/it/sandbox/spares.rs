//! Spare instances: no call sees that its instance is older than the call, and limits on what they take.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::json;
use toolhost_sandbox::{
    CallReport, Invocation, Outcome, PreparedTool, Sandbox, SandboxError, SpareCount,
};
use toolhost_tests::{
    Work, eventually, invocation, limits, nothing, output, own_sandbox, prepare_in,
};

use super::wat::component;

fn sandbox_with_spares() -> Sandbox {
    own_sandbox(|config| config.spare_instances = 4)
}

fn run() -> Invocation {
    invocation("run", &nothing(), None)
}

/// Calls until a call runs in a spare instance, and returns the report of that call.
async fn call_spare(sandbox: &Sandbox, tool: &PreparedTool, call: &Invocation) -> CallReport {
    let started = Instant::now();
    loop {
        let used = sandbox.spare_instances().used;
        let report = tool.call(call.clone()).await;
        if sandbox.spare_instances().used > used {
            return report;
        }
        assert!(
            started.elapsed().as_secs() < 10,
            "no call ran in a spare instance: {:?}, {report:?}",
            sandbox.spare_instances()
        );
        // Lets the sandbox's threads make one.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Waits until no spare instance is left, and returns the counts.
async fn until_none_is_ready(sandbox: &Sandbox) -> SpareCount {
    eventually("no spare instance is left", || {
        let count = sandbox.spare_instances();
        (count.ready, count.memory_bytes) == (0, 0)
    })
    .await;
    sandbox.spare_instances()
}

#[tokio::test]
async fn no_spare_instance_is_made_by_default() {
    let sandbox = own_sandbox(|_| ());
    let tool = prepare_in(&sandbox, "keep_state").await;
    for _ in 0..20 {
        assert_eq!(output(&tool.call(run()).await)["count"], 1);
    }
    assert_eq!(sandbox.spare_instances(), SpareCount::default());
}

#[tokio::test]
async fn two_calls_never_share_a_spare_instance() {
    let sandbox = sandbox_with_spares();
    let tool = prepare_in(&sandbox, "keep_state").await;
    let (mut randoms, mut clocks) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..20 {
        let report = call_spare(&sandbox, &tool, &run()).await;
        let output = output(&report);
        assert_eq!(output["count"], 1);
        randoms.insert(output["random"].to_string());
        randoms.insert(output["insecureSeed"].to_string());
        clocks.insert(output["wallNanos"].to_string());
    }
    assert_eq!((randoms.len(), clocks.len()), (40, 20));
    let count = sandbox.spare_instances();
    assert!(count.used >= 20 && count.made >= count.used, "{count:?}");
}

#[tokio::test]
async fn concurrent_calls_never_share_a_spare_instance() {
    let sandbox = sandbox_with_spares();
    let tool = prepare_in(&sandbox, "keep_state").await;
    for _ in 0..20 {
        call_spare(&sandbox, &tool, &run()).await;
        let calls = (0..8).map(|_| {
            let tool = tool.clone();
            tokio::spawn(async move { tool.call(run()).await })
        });
        for call in calls.collect::<Vec<_>>() {
            assert_eq!(output(&call.await.unwrap())["count"], 1);
        }
    }
}

#[tokio::test]
async fn a_spare_instance_has_the_grants_and_the_workdir_of_its_call_alone() {
    let sandbox = sandbox_with_spares();
    let tool = prepare_in(&sandbox, "look_at_environment").await;
    let (one, other) = (Work::new(), Work::new());
    std::fs::write(one.path("of_one"), "").unwrap();
    std::fs::write(other.path("of_other"), "").unwrap();
    for _ in 0..10 {
        for (work, name) in [(&one, "of_one"), (&other, "of_other")] {
            let mut call = invocation("run", &nothing(), Some(work));
            call.grants.env = vec![(name.to_owned(), "value".to_owned())];
            let report = call_spare(&sandbox, &tool, &call).await;
            assert_eq!(output(&report)["env"], json!({name: "value"}));
            assert_eq!(output(&report)["root"], json!([name]));
        }
        let report = call_spare(&sandbox, &tool, &run()).await;
        assert_eq!(output(&report)["env"], json!({}));
        assert_eq!(output(&report)["preopens"], json!([]));
    }
}

#[tokio::test]
async fn a_spare_instance_has_the_limits_of_its_call() {
    let sandbox = sandbox_with_spares();
    let plain = own_sandbox(|_| ());
    let (tool, same) = (
        prepare_in(&sandbox, "eat_memory").await,
        prepare_in(&plain, "eat_memory").await,
    );
    let bytes = |bytes: u64, memory_bytes: u64| {
        let mut call = invocation("run", &json!({ "bytes": bytes }), None);
        call.limits.memory_bytes = memory_bytes;
        call
    };
    // What the instance held before the call counts as the call's.
    let call = bytes(1_000_000, 64 << 20);
    let report = call_spare(&sandbox, &tool, &call).await;
    let without = same.call(call).await.usage.memory_peak;
    assert_eq!(report.usage.memory_peak, without);
    let call = bytes(100_000_000, 64 << 20);
    let report = call_spare(&sandbox, &tool, &call).await;
    assert!(
        matches!(report.outcome, Err(SandboxError::OutOfMemory { limit }) if limit == 64 << 20)
    );
    assert!(report.usage.memory_peak <= 64 << 20);
    assert_eq!(sandbox.memory_in_use(), 0);

    // Below what an instance takes, none that was made under other limits is used.
    type Change = fn(&mut toolhost_sandbox::Limits);
    let below: [Change; 3] = [
        |limits| limits.memory_bytes = 64 << 10,
        |limits| limits.table_elements = 0,
        |limits| limits.instances = 0,
    ];
    for change in below {
        call_spare(&sandbox, &tool, &bytes(1, 64 << 20)).await;
        let mut call = bytes(1, 64 << 20);
        change(&mut call.limits);
        let expected = same.call(call.clone()).await.outcome.unwrap_err();
        for _ in 0..5 {
            let error = tool.call(call.clone()).await.outcome.unwrap_err();
            assert_eq!(error.to_string(), expected.to_string());
        }
    }
}

#[tokio::test]
async fn the_memory_of_all_calls_counts_what_a_spare_instance_held() {
    let sandbox = own_sandbox(|config| {
        config.spare_instances = 4;
        config.memory_bytes = 64 << 20;
    });
    let tool = prepare_in(&sandbox, "eat_memory").await;
    let call = |bytes: u64| invocation("run", &json!({ "bytes": bytes }), None);
    call_spare(&sandbox, &tool, &call(1)).await;
    let report = call_spare(&sandbox, &tool, &call(100_000_000)).await;
    let outcome = report.outcome;
    assert!(
        matches!(outcome, Err(SandboxError::MemoryExhausted)),
        "{outcome:?}"
    );
    assert_eq!(sandbox.memory_in_use(), 0);
}

#[tokio::test]
async fn the_deadline_counts_from_the_call_and_not_from_when_its_instance_was_made() {
    let sandbox = sandbox_with_spares();
    let tool = prepare_in(&sandbox, "spin_forever").await;
    let call = |deadline| {
        let mut call = run();
        call.limits.deadline = deadline;
        call
    };
    let (short, long) = (Duration::from_millis(1), Duration::from_millis(200));
    call_spare(&sandbox, &tool, &call(short)).await;
    for deadline in [long, short] {
        let started = Instant::now();
        let report = call_spare(&sandbox, &tool, &call(deadline)).await;
        assert!(
            matches!(&report.outcome, Err(SandboxError::Timeout { deadline: of }) if *of == deadline),
            "{report:?}"
        );
        assert!(started.elapsed() >= deadline);
        assert!(report.usage.wall >= deadline, "{:?}", report.usage);
    }
}

#[tokio::test]
async fn a_component_whose_instantiation_calls_the_host_has_no_spare_instances() {
    let asks = r#"
        (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
          (export "now" (func (result u64)))))
        (core func $now (canon lower (func $clock "now")))
        (core module $asks
          (import "host" "now" (func $now (result i64)))
          (func $start (drop (call $now)))
          (start $start))
        (core instance (instantiate $asks (with "host" (instance (export "now" (func $now))))))"#;
    let calls_nothing =
        "(core module $m (func $start) (start $start)) (core instance (instantiate $m))";
    for (beside, is_refused) in [(asks, true), (calls_nothing, false)] {
        let sandbox = sandbox_with_spares();
        let tool = sandbox
            .prepare(component("answer", beside))
            .await
            .unwrap()
            .0;
        let null = Outcome::Output(serde_json::Value::Null);
        let has_decided = |count: SpareCount| count.refused > 0 || count.made > 0;
        while !has_decided(sandbox.spare_instances()) {
            assert_eq!(tool.call(run()).await.outcome.unwrap(), null);
            tokio::task::yield_now().await;
        }
        for _ in 0..100 {
            assert_eq!(tool.call(run()).await.outcome.unwrap(), null);
        }
        let count = sandbox.spare_instances();
        assert_eq!(count.refused > 0, is_refused, "{count:?}");
        assert_eq!(count.made == 0, is_refused, "{count:?}");
    }
}

#[tokio::test]
async fn spare_instances_hold_no_more_memory_than_they_may_and_none_when_idle() {
    let most = 8 << 20;
    let sandbox = own_sandbox(|config| {
        config.spare_instances = 1_000;
        config.spare_memory_bytes = most;
    });
    let mut tools = Vec::new();
    for name in ["keep_state", "echo", "eat_memory", "look_at_environment"] {
        tools.push(prepare_in(&sandbox, name).await);
    }
    let call = invocation("run", &json!({"bytes": 1}), None);
    while sandbox.spare_instances().used < 100 {
        for tool in &tools {
            tool.call(call.clone()).await;
            let count = sandbox.spare_instances();
            assert!(count.memory_bytes <= most, "{count:?}");
            assert!(count.ready * (512 << 10) <= most, "{count:?}");
        }
        tokio::task::yield_now().await;
    }
    until_none_is_ready(&sandbox).await;

    let none = own_sandbox(|config| {
        config.spare_instances = 4;
        config.spare_memory_bytes = 1 << 20;
    });
    let tool = prepare_in(&none, "keep_state").await;
    for _ in 0..100 {
        assert_eq!(output(&tool.call(run()).await)["count"], 1);
    }
    assert_eq!(none.spare_instances().made, 0);
}

#[tokio::test]
async fn spare_instances_take_no_call_slot_and_no_memory_of_calls() {
    let sandbox = own_sandbox(|config| {
        config.spare_instances = 4;
        config.live_calls = 1;
    });
    let tool = prepare_in(&sandbox, "keep_state").await;
    call_spare(&sandbox, &tool, &run()).await;
    eventually("one is ready", || sandbox.spare_instances().ready > 0).await;
    assert_eq!((sandbox.free_call_slots(), sandbox.memory_in_use()), (1, 0));
    let held = sandbox.spare_instances().memory_bytes;
    assert!(held >= 1 << 20, "{held}");
}

#[tokio::test]
async fn dropping_a_component_drops_its_spare_instances() {
    let sandbox = sandbox_with_spares();
    let kept = prepare_in(&sandbox, "echo").await;
    let tool = prepare_in(&sandbox, "keep_state").await;
    let mut say = invocation("say", &json!({"a": 1}), None);
    say.limits = limits(|limits| limits.deadline = Duration::from_secs(10));
    call_spare(&sandbox, &tool, &run()).await;
    drop(tool);
    until_none_is_ready(&sandbox).await;
    let report = call_spare(&sandbox, &kept, &say).await;
    assert_eq!(output(&report)["a"], 1);
}

//! One tool's share of slots, queue, memory, parking and CPU time.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;
use toolhost_sandbox::{CallReport, PreparedTool, Sandbox, SandboxConfig, SandboxError};
use toolhost_tests::{eventually, guest, invocation, nothing, prepare_in};

use super::agents_port::Port;
use super::{output, wat};

fn sandbox(waiting_calls: usize) -> Sandbox {
    Sandbox::new({
        let mut config = SandboxConfig::default();
        config.live_calls = 8;
        config.waiting_calls = waiting_calls;
        config
    })
    .unwrap()
}

/// Starts calls that run until their deadline of half a minute.
fn start(tool: &PreparedTool, calls: usize) -> Vec<JoinHandle<CallReport>> {
    let call = |_| {
        let tool = tool.clone();
        tokio::spawn(async move { tool.call(invocation("run", &nothing(), None)).await })
    };
    (0..calls).map(call).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_cannot_take_every_slot() {
    let sandbox = sandbox(1_000);
    let (spinner, again) = (
        prepare_in(&sandbox, "spin_forever").await,
        prepare_in(&sandbox, "spin_forever").await,
    );
    let echo = prepare_in(&sandbox, "echo").await;
    // A component that is prepared twice has one quota.
    let mut spinning = start(&spinner, 32);
    spinning.extend(start(&again, 32));
    eventually("the calls run or wait", || sandbox.waiting_calls() == 58).await;
    assert_eq!(sandbox.free_call_slots(), 2);

    for n in 0..50 {
        let report = echo.call(invocation("say", &json!({"n": n}), None)).await;
        assert_eq!(output(&report)["n"], n);
        assert!(
            report.usage.queued < Duration::from_millis(100),
            "{report:?}"
        );
    }
    assert!(spinning.iter().all(|call| !call.is_finished()));
    assert_eq!(
        (sandbox.free_call_slots(), sandbox.waiting_calls()),
        (2, 58)
    );

    // When one call ends, exactly one waiting call starts.
    let ran = spinning.swap_remove(0);
    ran.abort();
    eventually("the next call runs", || sandbox.waiting_calls() == 57).await;
    assert_eq!(sandbox.free_call_slots(), 2);
    spinning.iter().for_each(JoinHandle::abort);
    eventually("all calls have ended", || sandbox.free_call_slots() == 8).await;
    assert_eq!((sandbox.waiting_calls(), sandbox.memory_in_use()), (0, 0));
}

#[tokio::test]
async fn a_tool_cannot_fill_the_whole_queue() {
    let sandbox = sandbox(8);
    let (greedy, other) = (
        prepare_in(&sandbox, "sleep_forever").await,
        prepare_in(&sandbox, "spin_forever").await,
    );
    let echo = prepare_in(&sandbox, "echo").await;
    let mut held = start(&greedy, 12);
    eventually("the calls run or wait", || sandbox.waiting_calls() == 6).await;
    let refused = greedy.call(invocation("run", &nothing(), None)).await;
    assert!(
        matches!(&refused.outcome, Err(SandboxError::Busy { reason }) if reason.contains("of this tool")),
        "{refused:?}"
    );
    // Another tool takes the two remaining slots, and then the two remaining queue entries.
    held.extend(start(&other, 4));
    eventually("the queue is full", || sandbox.waiting_calls() == 8).await;
    assert_eq!(sandbox.free_call_slots(), 0);
    let refused = echo.call(invocation("say", &nothing(), None)).await;
    assert!(
        matches!(&refused.outcome, Err(SandboxError::Busy { reason }) if *reason == "too many calls are waiting"),
        "{refused:?}"
    );

    // A freed slot goes to the tool that holds fewer slots.
    held.truncate(held.len() - 1);
    held.iter().for_each(JoinHandle::abort);
    eventually("all calls have ended", || sandbox.free_call_slots() >= 7).await;
}

#[tokio::test]
async fn without_a_quota_a_tool_can_take_every_slot() {
    let sandbox = Sandbox::new({
        let mut config = SandboxConfig::default();
        config.live_calls = 8;
        config.share_per_free = u32::MAX;
        config
    })
    .unwrap();
    let greedy = prepare_in(&sandbox, "sleep_forever").await;
    let held = start(&greedy, 8);
    eventually("the calls run", || sandbox.free_call_slots() == 0).await;
    held.iter().for_each(JoinHandle::abort);
}

/// Returns the same program as a different component.
fn same_program(name: &str) -> Vec<u8> {
    let custom_section = [0, 2, 1, b'x'];
    [guest(name), custom_section.to_vec()].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_cannot_take_all_the_memory() {
    const MOST: u64 = 256 << 20;
    let sandbox = Sandbox::new({
        let mut config = SandboxConfig::default();
        config.memory_bytes = MOST;
        config
    })
    .unwrap();
    let greedy = prepare_in(&sandbox, "sleep_forever").await;
    let other = prepare_in(&sandbox, "eat_memory").await;
    let held = start(&greedy, 400);
    eventually("some calls wait", || sandbox.waiting_calls() > 0).await;
    let in_use = sandbox.memory_in_use();
    assert!(
        (MOST / 2..=MOST / 4 * 3 + (4 << 20)).contains(&in_use),
        "{in_use}"
    );
    assert!(sandbox.free_call_slots() > 512, "slots are free");
    for _ in 0..3 {
        let input = json!({"bytes": 20 << 20});
        let report = other.call(invocation("run", &input, None)).await;
        assert_eq!(output(&report)["touched"], 20 << 20);
        assert!(report.usage.queued < Duration::from_secs(5), "{report:?}");
    }
    assert!(sandbox.waiting_calls() > 0);
    held.iter().for_each(JoinHandle::abort);
    eventually("all calls have ended", || sandbox.memory_in_use() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_cannot_take_every_parking_slot() {
    let sandbox = Sandbox::new({
        let mut config = SandboxConfig::default();
        config.live_calls = 32;
        config.parked_calls = 8;
        config
    })
    .unwrap();
    let greedy = prepare_in(&sandbox, "ask_agents").await;
    let (other, _) = sandbox.prepare(same_program("ask_agents")).await.unwrap();
    let slow = Port::replying(|_| std::future::pending());
    let quick = Port::replying(|_| async { Ok(json!("done")) });
    let request = |port: &Arc<Port>| {
        let call = json!({"do": "request", "target": "coder", "input": 1});
        let mut call = invocation("run", &call, None);
        let port = Arc::clone(port);
        call.agents = Some(port);
        call
    };
    let held: Vec<_> = (0..8)
        .map(|_| {
            let (greedy, call) = (greedy.clone(), request(&slow));
            tokio::spawn(async move { greedy.call(call).await })
        })
        .collect();
    eventually("the tool has parked its quota of calls", || {
        sandbox.parked_calls() == 6 && held.iter().filter(|call| call.is_finished()).count() == 2
    })
    .await;
    for _ in 0..3 {
        let report = other.call(request(&quick)).await;
        assert_eq!(output(&report)["ok"]["response"], "done");
    }
    assert_eq!(sandbox.parked_calls(), 6);
    held.iter().for_each(JoinHandle::abort);
    eventually("all calls have ended", || sandbox.parked_calls() == 0).await;
}

/// Returns a guest that answers `null` after `rounds` rounds of a loop.
fn counts(rounds: u32) -> Vec<u8> {
    let answer = wat::text("answer");
    let at_once = "(func (export \"call\") (param i32) (result i32) (i32.const 96))";
    assert_eq!(answer.matches(at_once).count(), 1);
    let counted = format!(
        "(func (export \"call\") (param i32) (result i32)
           (local $n i32)
           (loop $again
             (local.set $n (i32.add (local.get $n) (i32.const 1)))
             (br_if $again (i32.lt_u (local.get $n) (i32.const {rounds}))))
           (i32.const 96))"
    );
    wat::component_of(&answer.replace(at_once, &counted), "")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_computing_calls_of_one_tool_do_not_starve_another_tool() {
    let sandbox = Sandbox::new({
        let mut config = SandboxConfig::default();
        config.live_calls = 200;
        config
    });
    let sandbox = sandbox.unwrap();
    let spinner = prepare_in(&sandbox, "spin_forever").await;
    let counts = sandbox.prepare(counts(200_000_000)).await.unwrap().0;
    let time = async || {
        let mut walls = Vec::new();
        for _ in 0..3 {
            let report = counts.call(invocation("run", &nothing(), None)).await;
            assert!(report.outcome.is_ok(), "{report:?}");
            walls.push(report.usage.wall);
        }
        walls.into_iter().min().unwrap()
    };
    let alone = time().await;
    let spinning = start(&spinner, 100);
    eventually("the calls run", || sandbox.free_call_slots() == 100).await;
    let beside = time().await;
    // If calls shared the CPU equally, it would take fifty times as long on two cores.
    assert!(beside < alone * 10, "{alone:?} alone, {beside:?} beside");
    spinning.iter().for_each(JoinHandle::abort);
    eventually("all calls have ended", || sandbox.free_call_slots() == 200).await;
}

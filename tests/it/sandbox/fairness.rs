//! Tools that take all they can, and those beside them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;
use toolhost_sandbox::{CallReport, PreparedTool, Sandbox, SandboxConfig, SandboxError};
use toolhost_tests::{eventually, guest, invocation, nothing};

use super::agents_port::Port;
use super::{output, wat};

fn small(waiting_calls: usize) -> Sandbox {
    Sandbox::new(SandboxConfig {
        live_calls: 8,
        waiting_calls,
        ..SandboxConfig::default()
    })
    .unwrap()
}

async fn tool(own: &Sandbox, name: &str) -> PreparedTool {
    own.prepare(guest(name)).await.unwrap().0
}

/// Starts calls that end at their deadline, half a minute away.
fn start(tool: &PreparedTool, calls: usize) -> Vec<JoinHandle<CallReport>> {
    let call = |_| {
        let tool = tool.clone();
        tokio::spawn(async move { tool.call(invocation("run", &nothing(), None)).await })
    };
    (0..calls).map(call).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_takes_all_it_can_leaves_places_to_another() {
    let own = small(1_000);
    let (spinner, again) = (
        tool(&own, "spin_forever").await,
        tool(&own, "spin_forever").await,
    );
    let echo = tool(&own, "echo").await;
    // Prepared twice, it is the same component still.
    let mut spinning = start(&spinner, 32);
    spinning.extend(start(&again, 32));
    eventually("they run or wait", || own.waiting_calls() == 58).await;
    assert_eq!(own.free_places(), 2);

    for n in 0..50 {
        let report = echo.call(invocation("say", &json!({"n": n}), None)).await;
        assert_eq!(output(&report)["n"], n);
        assert!(
            report.usage.queued < Duration::from_millis(100),
            "{report:?}"
        );
    }
    assert!(spinning.iter().all(|call| !call.is_finished()));
    assert_eq!((own.free_places(), own.waiting_calls()), (2, 58));

    // One that ends makes room for one that waits, and no more than that.
    let ran = spinning.swap_remove(0);
    ran.abort();
    eventually("the next one runs", || own.waiting_calls() == 57).await;
    assert_eq!(own.free_places(), 2);
    spinning.iter().for_each(JoinHandle::abort);
    eventually("all have ended", || own.free_places() == 8).await;
    assert_eq!((own.waiting_calls(), own.memory_in_use()), (0, 0));
}

#[tokio::test]
async fn a_tool_that_fills_the_line_leaves_room_in_it_to_another() {
    let own = small(8);
    let (hog, other) = (
        tool(&own, "sleep_forever").await,
        tool(&own, "spin_forever").await,
    );
    let echo = tool(&own, "echo").await;
    let mut held = start(&hog, 12);
    eventually("they run or wait", || own.waiting_calls() == 6).await;
    let refused = hog.call(invocation("run", &nothing(), None)).await;
    assert!(
        matches!(&refused.outcome, Err(SandboxError::Busy { reason }) if reason.contains("of this tool")),
        "{refused:?}"
    );
    // The two places that are left go to another, and then the two in the line.
    held.extend(start(&other, 4));
    eventually("the line is full", || own.waiting_calls() == 8).await;
    assert_eq!(own.free_places(), 0);
    let refused = echo.call(invocation("say", &nothing(), None)).await;
    assert!(
        matches!(&refused.outcome, Err(SandboxError::Busy { reason }) if *reason == "too many calls are waiting"),
        "{refused:?}"
    );

    // Whoever waits for a place is served before those who hold three times as many.
    held.truncate(held.len() - 1);
    held.iter().for_each(JoinHandle::abort);
    eventually("all have ended", || own.free_places() >= 7).await;
}

#[tokio::test]
async fn where_there_is_no_share_a_tool_may_take_every_place() {
    let own = Sandbox::new(SandboxConfig {
        live_calls: 8,
        share_per_free: u32::MAX,
        ..SandboxConfig::default()
    })
    .unwrap();
    let hog = tool(&own, "sleep_forever").await;
    let held = start(&hog, 8);
    eventually("they run", || own.free_places() == 0).await;
    held.iter().for_each(JoinHandle::abort);
}

/// The same program as another component.
fn twin(name: &str) -> Vec<u8> {
    let custom_section = [0, 2, 1, b'x'];
    [guest(name), custom_section.to_vec()].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_holds_all_the_memory_it_can_leaves_some_to_another() {
    const MOST: u64 = 256 << 20;
    let own = Sandbox::new(SandboxConfig {
        memory_bytes: MOST,
        ..SandboxConfig::default()
    })
    .unwrap();
    let hog = tool(&own, "sleep_forever").await;
    let other = tool(&own, "eat_memory").await;
    let held = start(&hog, 400);
    eventually("some wait", || own.waiting_calls() > 0).await;
    let in_use = own.memory_in_use();
    assert!(
        (MOST / 2..=MOST / 4 * 3 + (4 << 20)).contains(&in_use),
        "{in_use}"
    );
    assert!(own.free_places() > 512, "it is not for want of places");
    for _ in 0..3 {
        let input = json!({"bytes": 20 << 20});
        let report = other.call(invocation("run", &input, None)).await;
        assert_eq!(output(&report)["touched"], 20 << 20);
        assert!(report.usage.queued < Duration::from_secs(5), "{report:?}");
    }
    assert!(own.waiting_calls() > 0);
    held.iter().for_each(JoinHandle::abort);
    eventually("all have ended", || own.memory_in_use() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_parks_all_the_calls_it_can_leaves_room_to_another() {
    let own = Sandbox::new(SandboxConfig {
        live_calls: 32,
        parked_calls: 8,
        ..SandboxConfig::default()
    })
    .unwrap();
    let hog = tool(&own, "ask_agents").await;
    let (other, _) = own.prepare(twin("ask_agents")).await.unwrap();
    let slow = Port::replying(|_| std::future::pending());
    let quick = Port::replying(|_| async { Ok(json!("done")) });
    let request = |port: &Arc<Port>| {
        let asked = json!({"do": "request", "target": "coder", "input": 1});
        let mut asked = invocation("run", &asked, None);
        let port = Arc::clone(port);
        asked.agents = Some(port);
        asked
    };
    let held: Vec<_> = (0..8)
        .map(|_| {
            let (hog, asked) = (hog.clone(), request(&slow));
            tokio::spawn(async move { hog.call(asked).await })
        })
        .collect();
    eventually("it parks what it can", || {
        own.parked_calls() == 6 && held.iter().filter(|call| call.is_finished()).count() == 2
    })
    .await;
    for _ in 0..3 {
        let report = other.call(request(&quick)).await;
        assert_eq!(output(&report)["ok"]["response"], "done");
    }
    assert_eq!(own.parked_calls(), 6);
    held.iter().for_each(JoinHandle::abort);
    eventually("all have ended", || own.parked_calls() == 0).await;
}

/// Answers `null` after so many rounds of a loop.
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
async fn many_calls_of_one_tool_that_compute_leave_time_to_another() {
    let own = Sandbox::new(SandboxConfig {
        live_calls: 200,
        ..SandboxConfig::default()
    });
    let own = own.unwrap();
    let spinner = tool(&own, "spin_forever").await;
    let counts = own.prepare(counts(200_000_000)).await.unwrap().0;
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
    eventually("they run", || own.free_places() == 100).await;
    let beside = time().await;
    // Shared by call it would be fifty times as long on two cores.
    assert!(beside < alone * 10, "{alone:?} alone, {beside:?} beside");
    spinning.iter().for_each(JoinHandle::abort);
    eventually("all have ended", || own.free_places() == 200).await;
}

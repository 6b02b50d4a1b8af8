//! Calls that wait for other agents give up their slot, and end with the request they wait for.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Semaphore;
use toolhost_sandbox::{Invocation, Outcome, PreparedTool, Sandbox, SandboxConfig, SandboxError};
use toolhost_tests::{eventually, invocation, nothing, prepare_in};

use super::agents_port::Port;
use super::output;

fn sandbox(live_calls: u32, parked_calls: u32) -> Sandbox {
    Sandbox::new({
        let mut config = SandboxConfig::default();
        config.live_calls = live_calls;
        config.parked_calls = parked_calls;
        config
    })
    .unwrap()
}

fn request(input: &serde_json::Value, port: &Arc<Port>) -> Invocation {
    let call = json!({"do": "request", "target": "coder", "input": input});
    let mut call = invocation("run", &call, None);
    let port = Arc::clone(port);
    call.agents = Some(port);
    call
}

/// Returns a port that answers by calling the same tool again, to the depth in the input. The answer
/// is the number of nested calls, or the error of the call that could not send its request.
fn nested(tool: PreparedTool) -> Arc<Port> {
    let sandbox: Arc<OnceLock<Arc<Port>>> = Arc::default();
    let known = Arc::clone(&sandbox);
    let port = Port::replying(move |request| {
        let (tool, port) = (tool.clone(), Arc::clone(known.get().unwrap()));
        async move {
            let depth = request.input.as_u64().unwrap();
            if depth == 0 {
                return Ok(json!(0));
            }
            let below = tool.call(self::request(&json!(depth - 1), &port)).await;
            let answered = output(&below);
            let answer = &answered["ok"]["response"];
            Ok(match (answer.as_u64(), answered.get("error")) {
                (Some(call), _) => json!(call + 1),
                (None, Some(error)) => error.clone(),
                (None, None) => answer.clone(),
            })
        }
    });
    sandbox.set(Arc::clone(&port)).unwrap();
    port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_nested_deeper_than_the_slots_are_answered() {
    // One tool's quota of 32 is 24.
    let sandbox = sandbox(2, 32);
    let tool = prepare_in(&sandbox, "ask_agents").await;
    let port = nested(tool.clone());
    let report = tool.call(request(&json!(6), &port)).await;
    assert_eq!(output(&report)["ok"]["response"], 6);

    // Two concurrent chains, each seven deep, need more than twice the slots there are.
    let both = [(); 2].map(|()| {
        let (tool, call) = (tool.clone(), request(&json!(6), &port));
        tokio::spawn(async move { tool.call(call).await })
    });
    for report in both {
        assert_eq!(output(&report.await.unwrap())["ok"]["response"], 6);
    }
    assert_eq!((sandbox.free_call_slots(), sandbox.parked_calls()), (2, 0));
    assert_eq!(sandbox.memory_in_use(), 0);
}

#[tokio::test]
async fn a_call_that_cannot_be_parked_gets_a_busy_error() {
    let sandbox = sandbox(4, 2);
    let tool = prepare_in(&sandbox, "ask_agents").await;
    let port = nested(tool.clone());
    let report = tool.call(request(&json!(6), &port)).await;
    // Two calls are parked; the third gets the error, and both pass it on.
    let response = &output(&report)["ok"]["response"];
    assert_eq!(response["code"], "E_TOOL_BUSY", "{response}");
    assert_eq!((sandbox.free_call_slots(), sandbox.parked_calls()), (4, 0));
    assert_eq!(
        port.take().len(),
        2,
        "the third request did not reach the port"
    );
}

#[tokio::test]
async fn the_deadline_stops_a_parked_call() {
    let sandbox = sandbox(1, 1);
    let tool = prepare_in(&sandbox, "ask_agents").await;
    let held = Arc::new(());
    let seen = Arc::clone(&held);
    let port = Port::replying(move |_| {
        let held = Arc::clone(&held);
        async move {
            let _held = held;
            std::future::pending().await
        }
    });
    let mut call = request(&nothing(), &port);
    call.limits.deadline = Duration::from_millis(300);
    let call = {
        let tool = tool.clone();
        tokio::spawn(async move { tool.call(call).await })
    };
    eventually("the call is parked", || sandbox.parked_calls() == 1).await;
    assert_eq!(
        sandbox.free_call_slots(),
        1,
        "the slot is free for another call"
    );
    let other = tool.call(invocation("run", &nothing(), None)).await;
    assert_eq!(output(&other)["ok"], "no request");

    let report = call.await.unwrap();
    assert!(matches!(report.outcome, Err(SandboxError::Timeout { .. })));
    assert!(report.usage.wall >= Duration::from_millis(300));
    assert_eq!((sandbox.free_call_slots(), sandbox.parked_calls()), (1, 0));
    drop(port);
    eventually("the future of the port is dropped", || {
        Arc::strong_count(&seen) == 1
    })
    .await;
}

#[tokio::test]
async fn dropping_a_parked_call_ends_the_call_it_waits_for() {
    let sandbox = sandbox(2, 4);
    let outer = prepare_in(&sandbox, "ask_agents").await;
    let inner = prepare_in(&sandbox, "spin_forever").await;
    let port = Port::replying(move |_| {
        let inner = inner.clone();
        async move {
            inner.call(invocation("run", &nothing(), None)).await;
            Ok(json!(null))
        }
    });
    let call = request(&nothing(), &port);
    let call = tokio::spawn(async move { outer.call(call).await });
    eventually("the inner call runs", || {
        sandbox.parked_calls() == 1 && sandbox.free_call_slots() == 1
    })
    .await;
    // Long enough for the inner guest to move to the sandbox's threads.
    tokio::time::sleep(Duration::from_millis(20)).await;
    call.abort();
    eventually("both calls have ended", || {
        sandbox.parked_calls() == 0
            && sandbox.free_call_slots() == 2
            && sandbox.memory_in_use() == 0
    })
    .await;
}

#[tokio::test]
async fn a_parked_call_resumes_before_queued_calls_start() {
    let sandbox = sandbox(1, 1);
    let (asker, sleeper) = (
        prepare_in(&sandbox, "ask_agents").await,
        prepare_in(&sandbox, "sleep_forever").await,
    );
    let answer = Arc::new(Semaphore::new(0));
    let port = {
        let answer = Arc::clone(&answer);
        Port::replying(move |_| {
            let answer = Arc::clone(&answer);
            async move {
                let _told = answer.acquire().await;
                Ok(json!(null))
            }
        })
    };
    let call = request(&nothing(), &port);
    let parked = tokio::spawn(async move { asker.call(call).await });
    eventually("the call is parked", || sandbox.parked_calls() == 1).await;

    let sleeps = |tool: &PreparedTool| {
        let tool = tool.clone();
        tokio::spawn(async move { tool.call(invocation("run", &nothing(), None)).await })
    };
    let running = sleeps(&sleeper);
    eventually("one call runs", || sandbox.free_call_slots() == 0).await;
    let first = sleeps(&sleeper);
    eventually("one call waits", || sandbox.waiting_calls() == 1).await;
    let others = [sleeps(&sleeper), sleeps(&sleeper)];
    eventually("three calls wait", || sandbox.waiting_calls() == 3).await;

    answer.add_permits(1);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!parked.is_finished(), "it waits for a slot");
    running.abort();
    eventually("the first queued call runs", || {
        sandbox.waiting_calls() == 2
    })
    .await;
    first.abort();
    let report = parked.await.unwrap();
    assert!(matches!(report.outcome, Ok(Outcome::Output(_))));
    for other in others {
        other.abort();
    }
}

#[tokio::test]
async fn calls_that_wait_for_memory_do_not_block_a_parked_call() {
    // There is one slot, and the parked call holds so much memory that no other call can start.
    let sandbox = Sandbox::new({
        let mut config = SandboxConfig::default();
        config.live_calls = 1;
        config.parked_calls = 1;
        config.memory_bytes = (16 << 20) + (64 << 10);
        config
    })
    .unwrap();
    let tool = prepare_in(&sandbox, "ask_agents").await;
    let reports = Arc::new(Mutex::new(Vec::new()));
    let (other, kept) = (tool.clone(), Arc::clone(&reports));
    let line = sandbox.clone();
    let port = Port::replying(move |_| {
        let (other, kept, line) = (other.clone(), Arc::clone(&kept), line.clone());
        async move {
            kept.lock().unwrap().push(tokio::spawn(async move {
                other.call(invocation("run", &nothing(), None)).await
            }));
            eventually("a call waits for memory", || line.waiting_calls() == 1).await;
            Ok(json!("go on"))
        }
    });
    let report = tool.call(request(&nothing(), &port)).await;
    assert_eq!(output(&report)["ok"]["response"], "go on");
    let waited = reports.lock().unwrap().pop().unwrap();
    assert_eq!(output(&waited.await.unwrap())["ok"], "no request");
}

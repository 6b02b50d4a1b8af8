//! Calls that wait for other agents: they give their places to others, and end with them.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Semaphore;
use toolhost_sandbox::{Invocation, Outcome, PreparedTool, Sandbox, SandboxConfig, SandboxError};
use toolhost_tests::{eventually, guest, invocation, nothing};

use super::agents_port::Port;
use super::output;

fn small(live_calls: u32, parked_calls: u32) -> Sandbox {
    Sandbox::new(SandboxConfig {
        live_calls,
        parked_calls,
        ..SandboxConfig::default()
    })
    .unwrap()
}

async fn tool(own: &Sandbox, name: &str) -> PreparedTool {
    own.prepare(guest(name)).await.unwrap().0
}

fn request(input: &serde_json::Value, port: &Arc<Port>) -> Invocation {
    let asked = json!({"do": "request", "target": "coder", "input": input});
    let mut asked = invocation("run", &asked, None);
    let port = Arc::clone(port);
    asked.agents = Some(port);
    asked
}

/// A port behind which the same tool asks again, as deep as the input says. The answer is how many
/// were asked below, or the error of the one that could not ask.
fn nested(tool: PreparedTool) -> Arc<Port> {
    let own: Arc<OnceLock<Arc<Port>>> = Arc::default();
    let known = Arc::clone(&own);
    let port = Port::replying(move |request| {
        let (tool, port) = (tool.clone(), Arc::clone(known.get().unwrap()));
        async move {
            let depth = request.input.as_u64().unwrap();
            if depth == 0 {
                return Ok(json!(0));
            }
            let below = tool.call(self::request(&json!(depth - 1), &port)).await;
            let said = output(&below);
            let answer = &said["ok"]["response"];
            Ok(match (answer.as_u64(), said.get("error")) {
                (Some(asked), _) => json!(asked + 1),
                (None, Some(error)) => error.clone(),
                (None, None) => answer.clone(),
            })
        }
    });
    own.set(Arc::clone(&port)).unwrap();
    port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_deeper_than_there_are_places_come_back() {
    // One tool's share of 32 is 24.
    let own = small(2, 32);
    let tool = tool(&own, "ask_agents").await;
    let port = nested(tool.clone());
    let report = tool.call(request(&json!(6), &port)).await;
    assert_eq!(output(&report)["ok"]["response"], 6);

    // Two chains at once, seven deep each, need more places than there are twice over.
    let both = [(); 2].map(|()| {
        let (tool, asked) = (tool.clone(), request(&json!(6), &port));
        tokio::spawn(async move { tool.call(asked).await })
    });
    for report in both {
        assert_eq!(output(&report.await.unwrap())["ok"]["response"], 6);
    }
    assert_eq!((own.free_places(), own.parked_calls()), (2, 0));
    assert_eq!(own.memory_in_use(), 0);
}

#[tokio::test]
async fn a_call_that_cannot_be_parked_is_told_so() {
    let own = small(4, 2);
    let tool = tool(&own, "ask_agents").await;
    let port = nested(tool.clone());
    let report = tool.call(request(&json!(6), &port)).await;
    // Two are parked; the third is told, and its words go up through both.
    let told = &output(&report)["ok"]["response"];
    assert_eq!(told["code"], "E_TOOL_BUSY", "{told}");
    assert_eq!((own.free_places(), own.parked_calls()), (4, 0));
    assert_eq!(port.take().len(), 2, "the port did not hear of the third");
}

#[tokio::test]
async fn a_parked_call_is_stopped_at_its_deadline() {
    let own = small(1, 1);
    let tool = tool(&own, "ask_agents").await;
    let held = Arc::new(());
    let seen = Arc::clone(&held);
    let port = Port::replying(move |_| {
        let held = Arc::clone(&held);
        async move {
            let _held = held;
            std::future::pending().await
        }
    });
    let mut asked = request(&nothing(), &port);
    asked.limits.deadline = Duration::from_millis(300);
    let call = {
        let tool = tool.clone();
        tokio::spawn(async move { tool.call(asked).await })
    };
    eventually("it is parked", || own.parked_calls() == 1).await;
    assert_eq!(own.free_places(), 1, "its place is another's");
    let other = tool.call(invocation("run", &nothing(), None)).await;
    assert_eq!(output(&other)["ok"], "nothing was asked");

    let report = call.await.unwrap();
    assert!(matches!(report.outcome, Err(SandboxError::Timeout { .. })));
    assert!(report.usage.wall >= Duration::from_millis(300));
    assert_eq!((own.free_places(), own.parked_calls()), (1, 0));
    drop(port);
    eventually("what the port did is dropped", || {
        Arc::strong_count(&seen) == 1
    })
    .await;
}

#[tokio::test]
async fn a_parked_call_that_is_dropped_ends_what_it_waits_for() {
    let own = small(2, 4);
    let outer = tool(&own, "ask_agents").await;
    let inner = tool(&own, "spin_forever").await;
    let port = Port::replying(move |_| {
        let inner = inner.clone();
        async move {
            inner.call(invocation("run", &nothing(), None)).await;
            Ok(json!(null))
        }
    });
    let asked = request(&nothing(), &port);
    let call = tokio::spawn(async move { outer.call(asked).await });
    eventually("the inner call runs", || {
        own.parked_calls() == 1 && own.free_places() == 1
    })
    .await;
    // Long enough that the inner guest has moved away from its caller.
    tokio::time::sleep(Duration::from_millis(20)).await;
    call.abort();
    eventually("both ended", || {
        own.parked_calls() == 0 && own.free_places() == 2 && own.memory_in_use() == 0
    })
    .await;
}

#[tokio::test]
async fn a_parked_call_goes_on_before_the_line() {
    let own = small(1, 1);
    let (asker, sleeper) = (
        tool(&own, "ask_agents").await,
        tool(&own, "sleep_forever").await,
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
    let asked = request(&nothing(), &port);
    let parked = tokio::spawn(async move { asker.call(asked).await });
    eventually("it is parked", || own.parked_calls() == 1).await;

    let sleeps = |tool: &PreparedTool| {
        let tool = tool.clone();
        tokio::spawn(async move { tool.call(invocation("run", &nothing(), None)).await })
    };
    let running = sleeps(&sleeper);
    eventually("one runs", || own.free_places() == 0).await;
    let first = sleeps(&sleeper);
    eventually("one waits", || own.waiting_calls() == 1).await;
    let others = [sleeps(&sleeper), sleeps(&sleeper)];
    eventually("more wait", || own.waiting_calls() == 3).await;

    answer.add_permits(1);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!parked.is_finished(), "it waits for a place");
    running.abort();
    eventually("the first in line runs", || own.waiting_calls() == 2).await;
    first.abort();
    let report = parked.await.unwrap();
    assert!(matches!(report.outcome, Ok(Outcome::Output(_))));
    for other in others {
        other.abort();
    }
}

#[tokio::test]
async fn calls_that_wait_for_memory_do_not_keep_a_parked_call_from_going_on() {
    // The parked call holds so much that nothing else may start, and there is one place.
    let own = Sandbox::new(SandboxConfig {
        live_calls: 1,
        parked_calls: 1,
        memory_bytes: (16 << 20) + (64 << 10),
        ..SandboxConfig::default()
    })
    .unwrap();
    let tool = tool(&own, "ask_agents").await;
    let reports = Arc::new(Mutex::new(Vec::new()));
    let (other, kept) = (tool.clone(), Arc::clone(&reports));
    let line = own.clone();
    let port = Port::replying(move |_| {
        let (other, kept, line) = (other.clone(), Arc::clone(&kept), line.clone());
        async move {
            kept.lock().unwrap().push(tokio::spawn(async move {
                other.call(invocation("run", &nothing(), None)).await
            }));
            eventually("it waits for memory", || line.waiting_calls() == 1).await;
            Ok(json!("go on"))
        }
    });
    let report = tool.call(request(&nothing(), &port)).await;
    assert_eq!(output(&report)["ok"]["response"], "go on");
    let waited = reports.lock().unwrap().pop().unwrap();
    assert_eq!(output(&waited.await.unwrap())["ok"], "nothing was asked");
}

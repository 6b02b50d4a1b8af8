//! Requests of guests to other agents, and the responses.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolhost_contract::agents::{Message, Mode, Request};
use toolhost_contract::{Denial, HandlerError};
use toolhost_sandbox::{CallReport, FileIo, Invocation, SandboxError};
use toolhost_tests::{Work, invocation, nothing, prepared};

use super::agents_port::{Port, Recorded};
use super::output;

fn asking(call: &Value, port: &Arc<Port>) -> Invocation {
    let mut invocation = invocation("run", call, None);
    let port = Arc::clone(port);
    invocation.agents = Some(port);
    invocation
}

async fn ask(call: &Value, port: &Arc<Port>) -> CallReport {
    prepared("ask_agents").await.call(asking(call, port)).await
}

#[tokio::test]
async fn ungranted_agent_functions_are_denied_and_recorded() {
    for function in ["request", "send", "spawn", "list", "catalog"] {
        let call = json!({"do": function, "target": "coder", "input": 1});
        let tool = prepared("ask_agents").await;
        let report = tool.call(invocation("run", &call, None)).await;
        let error = &output(&report)["error"];
        assert_eq!(error["code"], "E_TOOL_DENIED", "{function}");
        assert_eq!(error["name"], "ToolDeniedError");
        let denied = Denial::parse(&format!("agents: {function}"));
        assert_eq!(report.usage.denials, [denied.unwrap()]);
    }
}

#[tokio::test]
async fn a_component_that_imports_agents_reports_the_import() {
    let tool = prepared("ask_agents").await;
    let import = "goondan:tool/agents@2.0.0".to_owned();
    assert!(tool.facts().imports.contains(&import));
}

#[tokio::test]
async fn the_port_receives_exactly_the_request_of_the_guest() {
    let port = Port::new();
    let report = ask(
        &json!({
            "do": "request", "target": "coder", "input": {"n": [1, null]}, "instanceKey": "k",
            "eventType": "review", "timeoutMs": 1_500, "metadata": {"why": "test"},
        }),
        &port,
    )
    .await;
    let whole = Request {
        target: "coder".to_owned(),
        input: json!({"n": [1, null]}),
        instance_key: Some("k".to_owned()),
        event_type: "review".to_owned(),
        timeout: Duration::from_millis(1_500),
        mode: Mode::Wait,
        metadata: json!({"why": "test"}).as_object().cloned(),
    };
    assert_eq!(port.take(), [Recorded::Request(whole)]);
    assert_eq!(
        output(&report)["ok"],
        json!({
            "target": "coder", "eventId": "event-1", "correlationId": "correlation-1",
            "accepted": true, "async": false, "response": {"done": true},
        })
    );
    assert!(report.usage.denials.is_empty());

    let report = ask(
        &json!({"do": "request", "target": "coder", "input": null, "async": true, "timeoutMs": 7}),
        &port,
    )
    .await;
    let least = Request {
        target: "coder".to_owned(),
        input: Value::Null,
        instance_key: None,
        event_type: "agent.request".to_owned(),
        timeout: Duration::from_millis(7),
        mode: Mode::Async,
        metadata: None,
    };
    assert_eq!(port.take(), [Recorded::Request(least)]);
    assert_eq!(output(&report)["ok"]["async"], true);
    assert_eq!(output(&report)["ok"]["response"], Value::Null);
}

#[tokio::test]
async fn send_spawn_list_and_catalog_reach_the_port() {
    let port = Port::new();
    let check = async |call: Value, recorded: Recorded, answer: Value| {
        let report = ask(&call, &port).await;
        assert_eq!(port.take(), [recorded]);
        assert_eq!(output(&report)["ok"], answer);
    };
    check(
        json!({"do": "send", "target": "critic", "input": "hi", "eventType": "note"}),
        Recorded::Send(Message {
            target: "critic".to_owned(),
            input: json!("hi"),
            instance_key: None,
            event_type: "note".to_owned(),
            metadata: None,
        }),
        json!({"target": "critic", "eventId": "event-2", "accepted": true}),
    )
    .await;
    let spawned = |key: Option<&str>| Recorded::Spawn("coder".to_owned(), key.map(str::to_owned));
    check(
        json!({"do": "spawn", "target": "coder", "instanceKey": "k"}),
        spawned(Some("k")),
        json!({"target": "coder", "instanceKey": "k", "spawned": true}),
    )
    .await;
    check(
        json!({"do": "spawn", "target": "coder"}),
        spawned(None),
        json!({"target": "coder", "instanceKey": "made", "spawned": true}),
    )
    .await;
    check(
        json!({"do": "list"}),
        Recorded::List,
        json!({"count": 0, "agents": []}),
    )
    .await;
    check(
        json!({"do": "catalog"}),
        Recorded::Catalog,
        json!([
            {"name": "coder", "description": "Writes code"},
            {"name": "critic", "description": null},
        ]),
    )
    .await;
}

#[tokio::test]
async fn malformed_or_oversized_requests_never_reach_the_port() {
    let port = Port::new();
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    let long = "x".repeat(1025);
    for (what, options) in [
        ("no JSON", json!({"text": "{"})),
        ("two values", json!({"text": "1 2"})),
        ("too deep", json!({"text": deep})),
        ("too large", json!({"bytes": (1 << 20) + 1})),
        ("metadata", json!({"input": 1, "metadata": [1]})),
        ("target", json!({"input": 1, "target": long})),
        ("key", json!({"input": 1, "instanceKey": long})),
        ("type", json!({"input": 1, "eventType": long})),
    ] {
        for function in ["request", "send"] {
            let mut call = json!({"do": function, "target": "coder"});
            let options = options.as_object().unwrap().clone();
            call.as_object_mut().unwrap().extend(options);
            let report = ask(&call, &port).await;
            let error = &output(&report)["error"];
            assert_eq!(error["code"], "E_TOOL_INVALID_ARGS", "{function}: {what}");
            assert!(error["message"].as_str().unwrap().len() < 200);
        }
    }
    let report = ask(&json!({"do": "spawn", "target": long}), &port).await;
    assert_eq!(output(&report)["error"]["code"], "E_TOOL_INVALID_ARGS");
    assert!(port.take().is_empty());

    let largest = json!({"do": "send", "target": "coder", "bytes": 1 << 20});
    assert_eq!(output(&ask(&largest, &port).await)["ok"]["accepted"], true);
}

#[tokio::test]
async fn the_guest_gets_an_error_for_an_oversized_response() {
    let mut deep = Value::Null;
    for _ in 0..65 {
        deep = json!([deep]);
    }
    for answer in [json!("x".repeat(1 << 20)), deep] {
        let port = Port::replying(move |_| {
            let answer = answer.clone();
            async { Ok(answer) }
        });
        let report = ask(&json!({"do": "request", "input": 1}), &port).await;
        let error = &output(&report)["error"];
        assert_eq!(error["code"], "E_TOOL_OUTPUT_TOO_LARGE");
    }
}

#[tokio::test]
async fn the_guest_gets_the_error_of_the_port() {
    let port = Port::replying(|_| async {
        Err(HandlerError {
            message: "é".repeat(1 << 20),
            name: Some("AgentRequestTimeoutError".to_owned()),
            code: Some("AGENT_REQUEST_TIMEOUT".to_owned()),
            suggestion: Some("Raise timeoutMs".to_owned()),
            help_url: None,
        })
    });
    let report = ask(&json!({"do": "request", "input": 1}), &port).await;
    let error = &output(&report)["error"];
    assert_eq!(error["code"], "AGENT_REQUEST_TIMEOUT");
    assert_eq!(error["name"], "AgentRequestTimeoutError");
    assert_eq!(error["suggestion"], "Raise timeoutMs");
    assert_eq!(error["message"].as_str().unwrap().len(), 4 << 10);
}

#[tokio::test]
async fn a_request_times_out_before_its_call_does() {
    let port = Port::new();
    for (deadline, call, least, most) in [
        (10_000, None, 5_000, 9_950),
        (10_000, Some(300), 300, 300),
        (10_000, Some(u32::MAX), 5_000, 9_950),
        (10_000, Some(0), 1, 1),
        (120_000, None, 60_000, 60_000),
    ] {
        let options = json!({"do": "request", "input": 1, "timeoutMs": call});
        let mut invocation = asking(&options, &port);
        invocation.limits.deadline = Duration::from_millis(deadline);
        prepared("ask_agents").await.call(invocation).await;
        let recorded = port.take();
        let [Recorded::Request(request)] = recorded.as_slice() else {
            panic!("{recorded:?}");
        };
        let given = u64::try_from(request.timeout.as_millis()).unwrap();
        assert!((least..=most).contains(&given), "{call:?}: {given}");
    }
}

#[tokio::test]
async fn a_panic_in_the_port_is_a_host_error_and_the_next_call_works() {
    for at_once in [true, false] {
        let port = Port::replying(move |_| {
            assert!(!at_once, "the test's own panic");
            async { panic!("the test's own panic") }
        });
        let report = ask(&json!({"do": "request", "input": 1}), &port).await;
        assert!(
            matches!(report.outcome, Err(SandboxError::HostPanic)),
            "{:?}",
            report.outcome
        );
        assert!(report.usage.memory_peak > 0, "usage is reported");
        let next = ask(&json!({"do": "send", "input": 1}), &port).await;
        assert_eq!(output(&next)["ok"]["accepted"], true);
    }
}

#[tokio::test]
async fn the_port_runs_on_the_callers_runtime() {
    // The sandbox's own threads have no timers.
    let port = Port::replying(|_| async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok(json!(tokio::runtime::Handle::current().id().to_string()))
    });
    let call = json!({"do": "request", "input": 1});
    let here = tokio::runtime::Handle::current().id().to_string();
    let report = ask(&call, &port).await;
    assert_eq!(output(&report)["ok"]["response"], json!(here));

    let work = Work::new();
    let mut offloaded = asking(&call, &port);
    offloaded.workdir = Some(work.workdir.clone().with_file_io(FileIo::Offload));
    let report = prepared("ask_agents").await.call(offloaded).await;
    assert_eq!(output(&report)["ok"]["response"], json!(here));
}

#[test]
fn agents_can_be_granted_by_a_caller_without_a_runtime() {
    let report = futures_executor::block_on(ask(&json!({"do": "list"}), &Port::new()));
    assert_eq!(output(&report)["ok"]["count"], 0);
    let report = futures_executor::block_on(ask(&nothing(), &Port::new()));
    assert_eq!(output(&report)["ok"], "no request");
}

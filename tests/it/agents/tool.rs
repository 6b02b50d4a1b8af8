//! The native `agents` tool, as a model uses it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolhost::agents::{OrchestratorConfig, Reach};
use toolhost::agents_tool;
use toolhost::middleware::{Next, ToolCallContext};
use toolhost_tests::test_host::{TestHost, TestTool};

use super::{ask, call, callers, callers_of, client};

async fn test_host() -> TestHost {
    let test_host = TestHost::with_tools(&[("echo", "echo", &["say", "context"])], "").await;
    test_host.agent.extend("agents", agents_tool).unwrap();
    test_host
}

#[tokio::test]
async fn an_agent_asks_another_and_reads_its_answer() {
    // tool-spec-v2 §2.6(2), §2.6(7), §11.1
    let test_host = test_host().await;
    let orchestrator = callers(&test_host.agent, &["a", "b"]).await;
    let args = json!({"target": "b", "input": {"n": 1}});
    let result = ask(&client(&orchestrator), "a", call("agents__request", args)).await;
    assert_eq!(result["status"], "ok", "{result}");
    let output = &result["output"];
    assert_eq!(output["response"], json!({"n": 1}));
    assert_eq!(
        (&output["target"], &output["accepted"]),
        (&json!("b"), &json!(true))
    );
    assert_eq!(output["async"], false);
    assert!(output["eventId"].is_string() && output["correlationId"].is_string());
}

#[tokio::test]
async fn the_tool_can_send_without_waiting_spawn_and_list() {
    // tool-spec-v2 §2.6(3), §11.1
    let test_host = test_host().await;
    let orchestrator = callers(&test_host.agent, &["a", "b"]).await;
    let client = client(&orchestrator);
    let output = |tool: &'static str, args| {
        let client = client.clone();
        async move { ask(&client, "a", call(tool, args)).await["output"].clone() }
    };
    let sent = output("agents__send", json!({"target": "b", "input": "hi"})).await;
    assert_eq!(
        (&sent["accepted"], &sent["sent"]),
        (&json!(true), &json!(true))
    );
    assert!(sent["eventId"].is_string() && sent.get("correlationId").is_none());
    let spawned = output(
        "agents__spawn",
        json!({"target": "b", "instanceKey": "k/other"}),
    )
    .await;
    assert_eq!(
        spawned,
        json!({"target": "b", "instanceKey": "k/other", "spawned": true})
    );
    let listed = output("agents__list", json!({})).await;
    assert_eq!(listed["count"], 3, "{listed}");
    let named = output("agents__catalog", json!({})).await;
    assert_eq!(
        named,
        json!({"count": 2, "agents": [{"name": "a"}, {"name": "b"}]})
    );
}

#[tokio::test]
async fn every_failed_request_is_a_result_with_a_code() {
    // tool-spec-v2 §2.6(5), §11.3
    let test_host = test_host().await;
    let orchestrator = callers(&test_host.agent, &["a", "b"]).await;
    let client = client(&orchestrator);
    let back = call("agents__request", json!({"target": "a", "input": 1}));
    for (args, code, says) in [
        (
            json!({"target": "nobody", "input": 1}),
            "AGENT_NOT_FOUND",
            "nobody",
        ),
        (
            json!({"target": "a", "input": 1}),
            "CIRCULAR_CALL_DETECTED",
            "'a'",
        ),
        (
            json!({"target": "b", "input": 1, "timeoutMs": 0}),
            "E_TOOL_INVALID_ARGS",
            "timeoutMs",
        ),
        (json!({"target": "b"}), "E_TOOL_INVALID_ARGS", "input"),
    ] {
        let result = ask(&client, "a", call("agents__request", args.clone())).await;
        let error = &result["error"];
        assert_eq!(error["code"], code, "{args}: {result}");
        assert!(
            error["message"].as_str().unwrap().contains(says),
            "{result}"
        );
        assert!(
            error["suggestion"].is_string() && error["helpUrl"].is_string(),
            "{result}"
        );
    }
    // a asks b, which asks a, which waits for b.
    let round = call("agents__request", json!({"target": "b", "input": back}));
    let result = ask(&client, "a", round).await;
    assert_eq!(
        result["output"]["response"]["error"]["code"],
        "CIRCULAR_CALL_DETECTED"
    );

    // Without an agents port, the tool returns an error.
    let step = test_host.another_step().await;
    let lone = toolhost_tests::test_host::tool_call("agents__list", json!({}));
    let result = step.execute_without_message(lone).await;
    assert_eq!(
        toolhost_tests::test_host::code(&result),
        "IPC_DELIVERY_FAILED"
    );
}

#[tokio::test]
async fn a_request_that_times_out_is_a_result() {
    // tool-spec-v2 §2.6(5)
    let test_host = TestHost::with_tools(&[("sleep", "sleep_forever", &["run"])], "").await;
    test_host.agent.extend("agents", agents_tool).unwrap();
    let orchestrator = callers(&test_host.agent, &["a", "b"]).await;
    let asleep = call("sleep__run", json!({}));
    let args = json!({"target": "b", "input": asleep, "timeoutMs": 50});
    let result = ask(&client(&orchestrator), "a", call("agents__request", args)).await;
    assert_eq!(result["error"]["code"], "AGENT_REQUEST_TIMEOUT", "{result}");
    orchestrator.shutdown(std::time::Duration::ZERO).await;
}

#[tokio::test]
async fn an_asynchronous_answer_is_delivered_before_a_later_step() {
    // tool-spec-v2 §2.6(2), §2.6(4)
    let test_host = test_host().await;
    let orchestrator = callers(&test_host.agent, &["b"]).await;
    let client = orchestrator.client("default", "k", None);
    let instance = test_host
        .agent
        .instance("k", test_host.work.workdir.clone());
    let start = toolhost::TurnStart::new("turn-1").with_agents(client);
    let turn = instance.open_turn(start).await.unwrap();
    let step = turn.open_step().await.unwrap();
    assert!(step.responses().is_empty());
    let args = json!({"target": "b", "input": {"n": 7}, "async": true});
    let accepted = step
        .execute_without_message(toolhost_tests::test_host::tool_call(
            "agents__request",
            args,
        ))
        .await;
    let output = accepted.output().unwrap();
    assert_eq!(
        (&output["async"], &output["response"]),
        (&json!(true), &json!(null))
    );
    for _ in 0..1000 {
        let step = turn.open_step().await.unwrap();
        if let [event] = step.responses() {
            assert_eq!(event.input, Some(json!({"n": 7})));
            let replied = event.metadata.as_ref().unwrap().get("inReplyTo");
            assert_eq!(replied, output.get("correlationId"));
            let next = turn.open_step().await.unwrap();
            assert!(next.responses().is_empty(), "each once");
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    panic!("no answer arrived");
}

#[tokio::test]
async fn requests_carry_the_trace_of_their_turn() {
    // tool-spec-v2 §2.6(4)
    let test_host = test_host().await;
    let orchestrator = callers(&test_host.agent, &["a", "b"]).await;
    let inner = call("echo__context", json!({}));
    let args = json!({"target": "b", "input": inner});
    let client = orchestrator.client("runtime", "k", Some("trace-9".to_owned()));
    let result = ask(&client, "a", call("agents__request", args)).await;
    let of_b = &result["output"]["response"]["output"];
    assert_eq!(
        (&of_b["agentName"], &of_b["traceId"]),
        (&json!("default"), &json!("trace-9"))
    );
}

#[tokio::test]
async fn an_agent_reaches_only_its_own_conversation() {
    let test_host = test_host().await;
    let orchestrator = callers(&test_host.agent, &["a", "b"]).await;
    let client = client(&orchestrator);
    let other = orchestrator.client("runtime", "somebody-else", None);
    ask(&other, "b", json!("theirs")).await;
    for tool in ["agents__request", "agents__send", "agents__spawn"] {
        for key in ["somebody-else", "k2", "", "k-2"] {
            let mut args = json!({"target": "b", "instanceKey": key});
            if tool != "agents__spawn" {
                args["input"] = json!("hi");
            }
            let result = ask(&client, "a", call(tool, args)).await;
            let error = &result["error"];
            assert_eq!(
                error["code"], "IPC_DELIVERY_FAILED",
                "{tool} {key}: {result}"
            );
            assert!(
                error["message"].as_str().unwrap().contains("out of reach"),
                "{result}"
            );
        }
    }
    let listed = ask(&client, "a", call("agents__list", json!({}))).await;
    let agents = listed["output"]["agents"].as_array().unwrap();
    assert!(
        agents.iter().all(|one| one["instanceKey"] == "k"),
        "{listed}"
    );
    let all = client.list().await.unwrap();
    assert_eq!(all.len(), 2, "no agent is started: {all:?}");
}

#[tokio::test]
async fn an_agent_reaches_any_conversation_if_the_orchestrator_allows_it() {
    let test_host = test_host().await;
    let mut config = OrchestratorConfig::default();
    config.reach = Reach::Any;
    let orchestrator = callers_of(config, &test_host.agent, &["a", "b"]).await;
    let client = client(&orchestrator);
    let other = orchestrator.client("runtime", "somebody-else", None);
    ask(&other, "b", json!("theirs")).await;
    for (tool, field, expected) in [
        ("agents__request", "response", json!("hi")),
        ("agents__send", "accepted", json!(true)),
        ("agents__spawn", "instanceKey", json!("somebody-else")),
    ] {
        let mut args = json!({"target": "b", "instanceKey": "somebody-else"});
        if tool != "agents__spawn" {
            args["input"] = json!("hi");
        }
        let result = ask(&client, "a", call(tool, args)).await;
        assert_eq!(result["output"][field], expected, "{tool}: {result}");
    }
    let listed = ask(&client, "a", call("agents__list", json!({}))).await;
    let agents = listed["output"]["agents"].as_array().unwrap();
    assert!(
        agents
            .iter()
            .any(|one| one["instanceKey"] == "somebody-else"),
        "{listed}"
    );
}

#[tokio::test]
async fn a_tool_cannot_call_itself_through_another_agent_without_end() {
    let tools: [TestTool<'_>; 2] = [
        ("caller", "call_tools", &["run"]),
        ("files", "file-system", &["write"]),
    ];
    let host = TestHost::with_tools(&tools, "tools: {caller: {tools: ['*']}}").await;
    host.agent.extend("agents", agents_tool).unwrap();
    let called = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&called);
    let layer = move |call: ToolCallContext, next: Next<ToolCallContext>| {
        seen.lock().unwrap().push(call.tool_name().to_owned());
        async move { next.run(call).await }
    };
    let extended = host
        .agent
        .extend("watch", |api| api.pipeline().tool_call(0, layer));
    extended.unwrap();
    let mut config = OrchestratorConfig::default();
    config.chain_depth_max = 3;
    let orchestrator = callers_of(config, &host.agent, &["a", "b"]).await;
    let run = |tool: &str, args: Value| {
        let step = json!({"do": "call", "tool": tool, "args": args});
        call("caller__run", json!({"steps": [step]}))
    };
    let write = run("files__write", json!({"path": "made", "content": "x"}));
    // Back to the instance that waits; and always to a new one, with a key beneath the last.
    let circle = ["b", "a"].map(|target| (target, "k".to_owned()));
    let chain = ["b", "a", "b", "a", "b", "a"];
    let chain = (1..)
        .zip(chain)
        .map(|(depth, target)| (target, format!("k{}", "/x".repeat(depth))));
    for path in [circle.to_vec(), chain.collect()] {
        let within = |inner: Value, (target, key): &(&str, String)| {
            let request = json!({"target": target, "instanceKey": key, "input": inner});
            run("agents__request", request)
        };
        let whole = path.iter().rev().fold(write.clone(), within);
        let answer = ask(&client(&orchestrator), "a", whole).await.to_string();
        assert!(answer.contains("CIRCULAR_CALL_DETECTED"), "{answer}");
        let called = std::mem::take(&mut *called.lock().unwrap());
        assert!(!called.contains(&"files__write".to_owned()), "{called:?}");
        let runs = called.iter().filter(|tool| *tool == "caller__run").count();
        assert!((2..=4).contains(&runs), "{called:?}");
    }
}

//! Components that import `agents`, with and without the grant.

use serde_json::json;
use toolhost::{Host, Policy, Sandbox, SandboxConfig};
use toolhost_tests::test_host::{TestHost, write_bundle, yaml};

use super::{ask, call, callers, client};

const ASK: &[toolhost_tests::test_host::TestTool<'_>] = &[("ask", "ask_agents", &["run"])];

#[tokio::test]
async fn a_component_can_ask_another_agent_if_the_policy_grants_it() {
    // tool-spec-v2 §11
    let test_host = TestHost::with_tools(ASK, "tools: {ask: {agents: true}}").await;
    let orchestrator = callers(&test_host.agent, &["a", "b"]).await;
    let args = json!({"do": "request", "target": "b", "input": {"n": 1}});
    let result = ask(&client(&orchestrator), "a", call("ask__run", args)).await;
    assert_eq!(
        result["output"]["ok"]["response"],
        json!({"n": 1}),
        "{result}"
    );
    let args = json!({"do": "request", "target": "nobody", "input": 1});
    let result = ask(&client(&orchestrator), "a", call("ask__run", args)).await;
    assert_eq!(
        result["output"]["error"]["code"], "AGENT_NOT_FOUND",
        "{result}"
    );
}

#[tokio::test]
async fn a_component_without_the_grant_reaches_no_agent() {
    let test_host = TestHost::with_tools(ASK, "").await;
    let orchestrator = callers(&test_host.agent, &["a", "b"]).await;
    for what in ["request", "send", "spawn", "list", "catalog"] {
        let args = json!({"do": what, "target": "b", "input": 1});
        let result = ask(&client(&orchestrator), "a", call("ask__run", args)).await;
        assert_eq!(
            result["output"]["error"]["code"], "E_TOOL_DENIED",
            "{what}: {result}"
        );
    }
    let listed = client(&orchestrator).list().await.unwrap();
    assert!(
        listed.iter().all(|instance| instance.target != "b"),
        "agent b is not started"
    );
}

#[tokio::test]
async fn a_component_with_the_grant_can_use_every_agent_function() {
    let test_host = TestHost::with_tools(ASK, "tools: {ask: {agents: true}}").await;
    let orchestrator = callers(&test_host.agent, &["a", "b"]).await;
    for (what, field, expected) in [
        ("request", "/response", json!({"n": 1})),
        ("send", "/accepted", json!(true)),
        ("spawn", "/target", json!("b")),
        ("list", "/count", json!(2)),
        ("catalog", "/1/name", json!("b")),
    ] {
        let args = json!({"do": what, "target": "b", "input": {"n": 1}});
        let result = ask(&client(&orchestrator), "a", call("ask__run", args)).await;
        let answer = &result["output"]["ok"];
        assert_eq!(answer.pointer(field), Some(&expected), "{what}: {result}");
    }
    let listed = client(&orchestrator).list().await.unwrap();
    assert!(
        listed.iter().any(|instance| instance.target == "b"),
        "agent b is started"
    );
}

#[tokio::test]
async fn requests_can_nest_deeper_than_the_call_slots() {
    const DEPTH: usize = 8;
    let mut config = SandboxConfig::default();
    config.live_calls = 2;
    let policy = Policy::parse("tools: {ask: {agents: true}}", "p.yaml").unwrap();
    let host = Host::builder()
        .sandbox(Sandbox::new(config).unwrap())
        .policy(policy);
    let host = host.build().unwrap();
    let bundle = tempfile::tempdir().unwrap();
    write_bundle(bundle.path(), &yaml(ASK), &["ask_agents"]);
    let agent = host
        .load(bundle.path())
        .await
        .unwrap()
        .only_agent()
        .unwrap();
    let names: Vec<String> = (0..=DEPTH).map(|number| format!("a{number}")).collect();
    let named: Vec<&str> = names.iter().map(String::as_str).collect();
    let orchestrator = callers(&agent, &named).await;
    let mut input = json!("the innermost");
    for target in names.iter().skip(1).rev() {
        input = call(
            "ask__run",
            json!({"do": "request", "target": target, "input": input}),
        );
    }
    let client = client(&orchestrator);
    let asked = ask(&client, "a0", input);
    let asked = tokio::time::timeout(std::time::Duration::from_secs(20), asked).await;
    let mut result = asked.expect("no deadlock");
    for _ in 0..DEPTH {
        result = result["output"]["ok"]["response"].clone();
    }
    assert_eq!(result, "the innermost");
}

#[tokio::test]
async fn an_ungranted_import_is_a_warning_when_the_bundle_loads() {
    let warned = |policy: &'static str| async move {
        let test_host = TestHost::with_tools(ASK, policy).await;
        let findings = test_host.loaded.diagnostics().iter();
        let imports = findings.filter(|finding| finding.message.contains("it imports"));
        imports.map(ToString::to_string).collect::<Vec<_>>()
    };
    let [warning] = &warned("").await[..] else {
        panic!("one warning")
    };
    assert!(
        warning.ends_with(
            "tool ask: it imports other agents, which no policy grants it here: a call that uses it is refused"
        ),
        "{warning}"
    );
    assert!(warned("tools: {ask: {agents: true}}").await.is_empty());
    let one_agent = "strict: false\nagents: {default: {tools: {ask: {agents: true}}}}";
    assert!(warned(one_agent).await.is_empty());

    // In a bundle with agents, their grants count; there is no agent `default`.
    let agent = json!({"apiVersion": "goondan.ai/v1", "kind": "Agent",
        "metadata": {"name": "coder"}, "spec": {"tools": ["Tool/ask"]}});
    let manifest = format!("{}\n---\n{agent}", yaml(ASK));
    for (policy, granted) in [
        (one_agent, false),
        ("agents: {coder: {tools: {ask: {agents: true}}}}", true),
    ] {
        let test_host = TestHost::load(&manifest, &["ask_agents"], policy, Some("coder")).await;
        let findings = test_host.loaded.diagnostics().iter();
        let asked = findings.filter(|finding| finding.message.contains("it imports other agents"));
        assert_eq!(asked.count(), usize::from(!granted), "{policy}");
    }
}

#[tokio::test]
async fn a_network_import_is_a_note_that_no_policy_grants_it() {
    let test_host = TestHost::with_tools(&[("dial", "dial_out", &["run"])], "").await;
    let [note] = test_host.loaded.diagnostics() else {
        panic!("one note: {:?}", test_host.loaded.diagnostics())
    };
    assert_eq!(note.severity, toolhost::manifest::Severity::Note);
    assert_eq!(
        note.message,
        "tool dial: it imports interfaces that no policy can grant: network: dns, network: tcp, network: udp"
    );
    let test_host = TestHost::with_tools(&[("look", "look_at_environment", &["run"])], "").await;
    assert!(test_host.loaded.diagnostics().is_empty());
}

#[tokio::test]
async fn a_secret_of_the_policy_does_not_reach_another_agent() {
    let policy = "tools: {ask: {agents: true, env: {TOKEN: {secret: sk-12345}}}}";
    let test_host = TestHost::with_tools(ASK, policy).await;
    let orchestrator = callers(&test_host.agent, &["a", "b"]).await;
    let args = json!({"do": "request", "target": "b", "input": {"found": "sk-12345"}});
    let result = ask(&client(&orchestrator), "a", call("ask__run", args)).await;
    assert_eq!(
        result["output"]["ok"]["response"],
        json!({"found": "[redacted:TOKEN]"}),
        "{result}"
    );
}

#[tokio::test]
async fn a_turn_without_an_agents_port_gives_another_error_than_a_missing_grant() {
    let test_host = TestHost::with_tools(ASK, "tools: {ask: {agents: true}}").await;
    let result = test_host.call("ask__run", json!({"do": "list"})).await;
    assert_eq!(
        result.output().unwrap()["error"]["code"],
        "IPC_DELIVERY_FAILED"
    );
    assert!(result.usage().denials.is_empty());
}

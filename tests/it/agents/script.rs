//! Agents whose model is a script.

use std::sync::Arc;

use serde_json::json;
use toolhost::agents::{AgentSetup, Orchestrator, OrchestratorConfig, Request};
use toolhost::{Host, ResourceName};
use toolhost_testing::script::ScriptedAgent;
use toolhost_tests::sandbox;
use toolhost_tests::test_host::{write_bundle, yaml};

#[tokio::test]
async fn errors_to_another_agent_contain_no_path_of_the_host() {
    let (state, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_bundle(dir.path(), &yaml(&[("echo", "echo", &["say"])]), &["echo"]);
    let host = Host::builder().sandbox(sandbox()).state_root(state.path());
    let loaded = host.build().unwrap().load(dir.path()).await.unwrap();
    let agent = loaded.only_agent().unwrap();
    let script = json!({"steps": [{"said": {"tool": "echo__say", "args": {"a": 1}}}]});
    let script = Arc::new(serde_json::from_value(script).unwrap());
    let orchestrator = Orchestrator::in_memory(OrchestratorConfig::default());
    let orchestrator = orchestrator.await.unwrap();
    let bundle = loaded.clone();
    let setup = AgentSetup::in_process(move |id| {
        let (bundle, agent) = (bundle.clone(), agent.clone());
        Arc::new(ScriptedAgent::new(
            bundle,
            agent,
            id.key(),
            Arc::clone(&script),
        ))
    });
    let name = ResourceName::parse("b").unwrap();
    orchestrator.register(&name, setup).await.unwrap();
    let ask = async |key| {
        let asked = orchestrator.client("user", key, None);
        asked.request(Request::new("b", json!(null))).await
    };
    let answer = ask("k").await.unwrap();
    assert_eq!(answer.response["said"]["output"], json!({"a": 1}));

    // The path of the other agent's workspace is a file.
    let path = loaded.instance_path("other").unwrap();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "").unwrap();
    let error = ask("other").await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the turn of agent 'b' failed: the workspace cannot be opened"
    );
}

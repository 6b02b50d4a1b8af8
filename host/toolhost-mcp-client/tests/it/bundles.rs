//! Servers that a bundle names: nothing is started unless the policy grants exactly the same.

use serde_json::json;
use toolhost::LoadError;
use toolhost_mcp_client::McpServers;

use crate::support::{Place, processes_with, until};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/scripted.py");

/// A bundle with a server that records in `record`.
fn bundle(record: &str, more: &str) -> String {
    format!(
        "
apiVersion: goondan.ai/v1
kind: McpServer
metadata: {{name: srv}}
spec:
  transport:
    stdio: {{command: [python3, {SCRIPT}, ok, {record}]{more}}}
"
    )
}

fn path() -> String {
    std::env::var("PATH").unwrap()
}

/// A file for records, and the line of a policy that grants the server.
fn grant() -> (tempfile::TempDir, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("record").to_str().unwrap().to_owned();
    let policy = format!(
        "mcpServers: {{srv: {{command: [python3, {SCRIPT}, ok, {record}], env: {{PATH: '{}'}}}}}}",
        path()
    );
    (dir, record, policy)
}

#[tokio::test]
async fn a_granted_server_gives_its_tools_to_the_agent() {
    let (_dir, record, policy) = grant();
    let place = Place::with(&bundle(&record, ""), &policy).await.unwrap();
    assert_eq!(place.bundle.diagnostics(), []);
    assert_eq!(place.tools(), Vec::<String>::new());
    let servers = McpServers::start(&place.bundle).await.unwrap();
    assert_eq!(servers.warnings(), Vec::<String>::new());
    place.echoes().await;
    servers.close().await;
    assert_eq!(place.tools(), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_that_the_policy_lacks_is_a_warning_with_the_lines_to_add_and_is_not_started() {
    let (dir, record, _) = grant();
    let place = Place::with(&bundle(&record, ""), "").await.unwrap();
    let [finding] = place.bundle.diagnostics() else {
        panic!("{:?}", place.bundle.diagnostics());
    };
    assert!(!finding.is_error());
    assert_eq!(finding.code.as_str(), "E_TOOL_DENIED");
    assert_eq!(
        finding.message,
        "McpServer/srv is not granted by the policy, and not started"
    );
    assert_eq!(finding.place.position.unwrap().line, 4);
    let servers = McpServers::start(&place.bundle).await.unwrap();
    assert!(servers.servers().is_empty());
    assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none());

    // The lines of the help grant it.
    let lines = finding.help.split('`').nth(1).unwrap();
    let place = Place::with(&bundle(&record, ""), lines).await.unwrap();
    assert_eq!(place.bundle.mcp_servers().len(), 1);
}

#[tokio::test]
async fn a_server_that_differs_from_the_policy_is_an_error_and_is_not_started() {
    let (dir, record, policy) = grant();
    let other = format!("{record} more");
    let http = "
apiVersion: goondan.ai/v1
kind: McpServer
metadata: {name: srv}
spec: {transport: {http: {url: https://mcp.example.com/mcp}}}
";
    for (bundle, expected) in [
        (bundle(&other, ""), "its command differs"),
        (
            bundle(&record, ", env: {LD_PRELOAD: /tmp/x.so}"),
            "its variable LD_PRELOAD differs",
        ),
        (
            bundle(&record, ", env: {PATH: /tmp}"),
            "its variable PATH differs",
        ),
        (http.to_owned(), "it is a URL, and a command is granted"),
    ] {
        let loaded = Place::with(&bundle, &policy).await;
        let Err(LoadError::Invalid { diagnostics, .. }) = loaded.map(drop) else {
            panic!("{expected}: it was loaded");
        };
        let messages: Vec<&str> = diagnostics.iter().map(|it| it.message.as_str()).collect();
        let message = format!("McpServer/srv is not the one in the policy: {expected}");
        assert_eq!(messages, [message]);
    }
    assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none());
}

#[tokio::test]
async fn only_agents_that_name_a_server_have_its_tools() {
    let (_dir, record, policy) = grant();
    let agents = "
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: {name: with}
spec: {tools: [McpServer/srv], requiredTools: [srv__echo]}
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: {name: without}
spec: {tools: []}
";
    let place = Place::with(&(bundle(&record, "") + agents), &policy)
        .await
        .unwrap();
    let _servers = McpServers::start(&place.bundle).await.unwrap();
    let tools = |agent: &str| place.bundle.agent(agent).unwrap().catalog().items().len();
    assert_eq!((tools("with"), tools("without")), (14, 0));
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_a_warning_of_the_start() {
    let bundle = "
apiVersion: goondan.ai/v1
kind: McpServer
metadata: {name: srv}
spec: {transport: {http: {url: http://127.0.0.1:9/mcp}}}
";
    let policy = "mcpServers: {srv: {url: http://127.0.0.1:9/mcp}}";
    let place = Place::with(bundle, policy).await.unwrap();
    let servers = McpServers::start(&place.bundle).await.unwrap();
    let warnings = servers.warnings();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].starts_with("McpServer/srv is not available: ")
            && warnings[0].contains("the connection was refused"),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn secrets_of_a_server_are_redacted_from_results() {
    let (_dir, record, _) = grant();
    let policy = format!(
        "mcpServers: {{srv: {{command: [python3, {SCRIPT}, ok, {record}], env: {{TOKEN: {{secret: sk-12345}}, PATH: '{}'}}, inheritEnv: [OTHER]}}}}",
        path()
    );
    let place = Place::with(&bundle(&record, ""), &policy).await.unwrap();
    let _servers = McpServers::start(&place.bundle).await.unwrap();
    let env = place.output("srv__env", json!({})).await;
    assert_eq!(env["TOKEN"], json!("[redacted:TOKEN]"));
    assert_eq!(env["OTHER"], json!("from the host"));
}

#[tokio::test]
async fn a_bundle_that_is_loaded_again_keeps_the_servers_that_have_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    let record = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let resource = |name: &str, record: &str| {
        bundle(record, "").replace("name: srv", &format!("name: {name}"))
    };
    let grant = |name: &str| {
        let (record, path) = (record(name), path());
        format!(
            "  {name}: {{command: [python3, {SCRIPT}, ok, {record}], env: {{PATH: '{path}'}}}}\n"
        )
    };
    let policy = format!(
        "strict: false\nmcpServers:\n{}{}{}",
        grant("kept"),
        grant("gone"),
        grant("new")
    );
    let both = |first: &str, second: &str| {
        let (first, second) = (
            resource(first, &record(first)),
            resource(second, &record(second)),
        );
        format!("{first}---\n{second}")
    };
    let place = Place::with(&both("kept", "gone"), &policy).await.unwrap();
    let mut servers = McpServers::start(&place.bundle).await.unwrap();
    let pid = place.output("kept__pid", json!({})).await;
    place.output("gone__pid", json!({})).await;

    std::fs::write(
        place.dir.path().join("bundle/goondan.yaml"),
        both("new", "kept"),
    )
    .unwrap();
    let again = place.bundle.reload().await.unwrap();
    servers.update(&again).await.unwrap();
    let names = servers
        .servers()
        .iter()
        .map(|server| server.config().name.to_string());
    assert_eq!(names.collect::<Vec<_>>(), ["new", "kept"]);
    assert_eq!(place.output("kept__pid", json!({})).await, pid);
    place.output("new__pid", json!({})).await;
    let (code, _) = place.error("gone__pid", json!({})).await;
    assert_eq!(code, "E_TOOL_NOT_IN_CATALOG");
    let gone = std::fs::read_to_string(record("gone")).unwrap();
    assert!(gone.ends_with("end of input\n"), "{gone}");
}

#[tokio::test]
async fn unloading_the_bundle_ends_its_servers() {
    let (_dir, record, policy) = grant();
    let place = Place::with(&bundle(&record, ""), &policy).await.unwrap();
    let servers = McpServers::start(&place.bundle).await.unwrap();
    place.echoes().await;
    assert!(!processes_with(&record).is_empty());
    place.bundle.unload().await;
    until("the server ends", async || {
        processes_with(&record).is_empty()
    })
    .await;
    assert_eq!(place.tools(), Vec::<String>::new());
    // Its process ends before its end is noticed.
    until("the end is reported", async || {
        !servers.warnings().is_empty()
    })
    .await;
    let [warning] = &servers.warnings()[..] else {
        panic!("{:?}", servers.warnings());
    };
    assert!(warning.contains("not available"), "{warning}");
}

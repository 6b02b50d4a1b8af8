//! The base tools, with their real components.

mod archives;
mod bash;
mod corpus;
mod curl;
mod file_system;
mod hostile;
mod http_exchanges;
mod http_fetch;
mod json_query;
mod wait;

use serde_json::{Value, json};
use toolhost::{Host, ToolResult};
use toolhost_tests::test_host::{TestHost, open_step, tool_call};
use toolhost_tests::{Work, root, sandbox};

/// Loads the tools of `guest-examples/base` with a policy in YAML.
pub(crate) async fn base(policy: &str) -> TestHost {
    let tools: &[(&str, &str, &[&str])] = &[
        ("bash", "bash", &["exec", "script"]),
        ("json-query", "json-query", &["query"]),
        ("wait", "wait", &["seconds", "until"]),
    ];
    TestHost::with_tools(tools, policy).await
}

#[tokio::test]
async fn the_bundle_of_base_tools_loads() {
    let host = Host::builder().sandbox(sandbox()).build().unwrap();
    let loaded = host.load(root("guest-examples/base")).await;
    let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
    let work = Work::new();
    let step = open_step(&loaded.only_agent().unwrap(), "instance", &work.workdir).await;
    let call = tool_call("bash__exec", command("echo loaded"));
    let result = step.execute_without_message(call).await;
    assert_eq!(output(&result)["stdout"], "loaded\n");
}

/// Returns the output of a call.
#[track_caller]
pub(crate) fn output(result: &ToolResult) -> &Value {
    result
        .output()
        .unwrap_or_else(|| panic!("no output: {result:?}"))
}

/// Returns the arguments for a command line.
pub(crate) fn command(command: &str) -> Value {
    json!({"command": command})
}

/// Asserts that an error has this code, this text in its message, and a suggestion.
#[track_caller]
pub(crate) fn fails(result: &ToolResult, code: &str, says: &str) {
    let error = result
        .tool_error()
        .unwrap_or_else(|| panic!("no error: {result:?}"));
    assert_eq!(error.code.as_str(), code, "{error:?}");
    assert!(error.message.contains(says), "{error:?}");
    assert!(error.suggestion.is_some(), "{error:?}");
}

//! HTTP requests of guests to real servers on loopback: rules, headers, credentials, limits and
//! timeouts.

mod allowed;
mod credentials;
mod headers;
mod limits;
pub(crate) mod server;
mod timeouts;

use serde_json::{Value, json};
use toolhost::{Host, Policy, ToolResult, http::HttpConfig};
use toolhost_tests::test_host::TestHost;
use toolhost_tests::{own_sandbox, sandbox};

const WEB: &[(&str, &str, &[&str])] = &[("web", "fetch", &["run"])];

/// Returns a policy with these `http` rules and `limits` for the Tool `web`.
fn policy(http: &Value, limits: &Value) -> String {
    json!({"tools": {"web": {"http": http, "limits": limits}}}).to_string()
}

/// Runs one call of the guest `fetch` as the Tool `web`, with these `http` rules in the policy.
async fn fetch(http: &Value, input: Value) -> ToolResult {
    fetch_within(http, &json!({}), input).await
}

/// Runs one call with these `http` rules and these limits.
async fn fetch_within(http: &Value, limits: &Value, input: Value) -> ToolResult {
    let test_host = TestHost::with_tools(WEB, &policy(http, limits)).await;
    test_host.call("web__run", input).await
}

/// A host with its own network configuration.
struct Web(TestHost);

impl Web {
    async fn of(http: &Value, config: HttpConfig) -> Self {
        let policy = Policy::parse(&policy(http, &json!({})), "policy.yaml").unwrap();
        let own = own_sandbox(|sandbox| sandbox.http = config);
        Self::in_sandbox(own, policy).await
    }

    async fn answered_by(http: &Value, server: std::net::SocketAddr) -> Self {
        let policy = Policy::parse(&policy(http, &json!({})), "policy.yaml").unwrap();
        Self::in_sandbox(sandbox(), policy.answered_by(server)).await
    }

    async fn in_sandbox(sandbox: toolhost::Sandbox, policy: Policy) -> Self {
        let host = Host::builder().sandbox(sandbox).policy(policy).build();
        Self(TestHost::with_tools_in(host.unwrap(), WEB).await)
    }

    async fn fetch(&self, input: Value) -> ToolResult {
        self.0.call("web__run", input).await
    }
}

/// Returns the HTTP responses in the output of a call.
fn answers(result: &ToolResult) -> &[Value] {
    let output = result.output().unwrap_or_else(|| panic!("{result:?}"));
    output["answers"].as_array().unwrap()
}

/// Returns the only HTTP response.
fn answer(result: &ToolResult) -> &Value {
    match answers(result) {
        [only] => only,
        many => panic!("{many:?}"),
    }
}

/// Returns the error of the only request.
fn error(result: &ToolResult) -> &str {
    error_of(answer(result))
}

fn error_of(answer: &Value) -> &str {
    answer["error"]
        .as_str()
        .or_else(|| answer["failed"].as_str())
        .unwrap_or_else(|| panic!("{answer}"))
}

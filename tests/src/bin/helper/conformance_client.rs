//! The client that the protocol's conformance suite tests: `conformance client --command THIS`.
//!
//! The suite starts a server for each scenario, and this program with the server's URL as its last argument.
//! The program loads a bundle whose only server is this one, grants it in a policy, and calls its tools as an
//! agent would. Where the server requires authorization, it plays the person's browser. It exits with 1 if the
//! server could not be used.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a program that the suite starts: it reads the environment and prints"
)]

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolhost::{
    BoxFuture, Host, Policy, Sandbox, ToolCall, ToolCatalogItem,
    http::{AddressBlock, HttpGrant, HttpRule},
    sandbox::Limits,
};
use toolhost_mcp_client::{
    McpAuthorization, McpAuthorizationRequest, McpAuthorizer, McpServers, McpStatus,
};

type Error = Box<dyn std::error::Error>;

#[tokio::main]
pub(crate) async fn run(arguments: &[String]) -> Result<ExitCode, Error> {
    let url = arguments.last().cloned().unwrap_or_default();
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let is_usable = completes(&url, &context).await?;
    Ok(ExitCode::from(u8::from(!is_usable)))
}

/// Calls the tools that the scenario names, or else all tools. Returns whether the server could be used.
async fn completes(url: &str, context: &Value) -> Result<bool, Error> {
    let dir = tempfile::tempdir()?;
    let (bundle, workdir) = (dir.path().join("bundle"), dir.path().join("work"));
    std::fs::create_dir(&bundle)?;
    std::fs::create_dir(&workdir)?;
    let server = json!({
        "apiVersion": "goondan.ai/v1",
        "kind": "McpServer",
        "metadata": {"name": "suite"},
        "spec": {"transport": {"http": {"url": url}}},
    });
    std::fs::write(bundle.join("goondan.yaml"), server.to_string())?;
    let policy = json!({"mcpServers": {"suite": grant(url, context)}}).to_string();
    let policy = Policy::parse(&policy, "policy.yaml")?;
    let host = Host::builder().policy(policy).build()?;
    let bundle = host.load(bundle.join("goondan.yaml")).await?;
    let authorization = McpAuthorization::new().authorizer(Browser(host.sandbox().clone()));
    let servers = McpServers::start_with(&bundle, authorization).await?;
    for warning in servers.warnings() {
        eprintln!("{warning}");
    }
    let is_started = servers
        .servers()
        .iter()
        .all(|server| matches!(server.status(), McpStatus::Ready { .. }));

    let agent = bundle.only_agent()?;
    let instance = agent.instance("suite", host.workdir(&workdir)?);
    let turn = instance.open_turn("turn").await?;
    let step = turn.open_step().await?;
    let mut is_usable = is_started;
    for call in calls(step.catalog().items(), context) {
        let name = call.name.clone();
        let result = step.execute_without_message(call).await;
        if let Some(error) = result.tool_error() {
            eprintln!("{name}: {}: {}", error.code, error.message);
            let code = error.code.to_string();
            is_usable &= !matches!(code.as_str(), "MCP_UNAVAILABLE" | "MCP_UNAUTHORIZED");
        }
    }
    step.close(json!(null)).await?;
    turn.close(json!(null)).await?;
    servers.close().await;
    Ok(is_usable)
}

/// What an operator would write for this server.
fn grant(url: &str, context: &Value) -> Value {
    let text = |key: &str| context.get(key).and_then(Value::as_str);
    let mut oauth = json!({"clientMetadataUrl": CLIENT_METADATA});
    if let (Some(id), Some(secret), Some(issuer)) =
        (text("client_id"), text("client_secret"), text("issuer"))
    {
        oauth = json!({"clientId": id, "clientSecret": {"secret": secret}, "issuer": issuer});
    }
    json!({"url": url, "privateNetworks": LOOPBACK, "oauth": oauth})
}

/// Where the suite expects the metadata of clients.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";

/// The suite's servers.
const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1"];

/// A browser whose person agrees at once.
struct Browser(Sandbox);

impl McpAuthorizer for Browser {
    fn redirect_uri(&self) -> String {
        "http://localhost:3000/callback".to_owned()
    }

    fn authorize(&self, request: McpAuthorizationRequest) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            let answer = self.open(&request.url).await;
            answer.map_err(|error| error.to_string())
        })
    }
}

impl Browser {
    /// Opens a page, and returns where it sends the browser.
    async fn open(&self, url: &str) -> Result<String, Error> {
        let page = url.split('?').next().unwrap_or_default();
        let networks = LOOPBACK.map(AddressBlock::parse);
        let grant = HttpGrant {
            allow: [HttpRule::parse(&format!("GET {page}"))?].into(),
            private_networks: networks.into_iter().collect::<Result<_, _>>()?,
            ..HttpGrant::default()
        };
        let egress = self.0.egress();
        let client = egress.client(page, Arc::new(grant), Limits::default());
        let request = http::Request::get(url).body(Default::default())?;
        let response = client.send(request).await?;
        let location = response.headers().get(http::header::LOCATION);
        let location = location.ok_or("the page does not send the browser on")?;
        Ok(location.to_str()?.to_owned())
    }
}

/// The calls of a scenario: those of its context, or one of each tool.
fn calls(items: &[ToolCatalogItem], context: &Value) -> Vec<ToolCall> {
    let named = context.get("toolCalls").and_then(Value::as_array);
    let name_of = |name: &str| format!("suite__{name}");
    let all: Vec<(String, Value)> = match named {
        Some(calls) => {
            let call = |call: &Value| {
                let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
                let arguments = call.get("arguments").cloned().unwrap_or(json!({}));
                (name_of(name), arguments)
            };
            calls.iter().map(call).collect()
        }
        None => items
            .iter()
            .map(|item| (item.name.to_string(), Value::Object(arguments(item))))
            .collect(),
    };
    let calls = all.into_iter().enumerate().map(|(at, (name, arguments))| {
        let mut arguments = arguments.as_object().cloned().unwrap_or_default();
        // An agent leaves out what its schema does not allow to be null.
        arguments.retain(|_, value| !value.is_null());
        ToolCall::new(format!("call-{at}"), &name, arguments)
    });
    calls.collect()
}

/// Arguments that a schema allows: a value for each required property.
fn arguments(item: &ToolCatalogItem) -> Map<String, Value> {
    let schema = item.parameters.as_ref().map(|schema| json!(schema));
    let schema = schema.unwrap_or_default();
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let value = |name: &str| {
        let property = schema.get("properties").and_then(|all| all.get(name));
        let kind = property.and_then(|property| property.get("type"));
        match kind.and_then(Value::as_str) {
            Some("number" | "integer") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("test"),
        }
    };
    required
        .map(|name| (name.to_owned(), value(name)))
        .collect()
}

//! Results that need an extension of the runtime, or other calls beside them, through the servers and the
//! library. The table of all other calls is in the tests of the command line: `cli front_ends`.

use std::time::Duration;

use serde_json::{Value, json};
use toolhost::{
    HandlerError, Host, JsonObject, LiveBundle, ToolCatalogItem,
    extension::HandlerContext,
    middleware::{CallKind, Next, ToolCallContext},
};
use toolhost_mcp::{McpConfig, McpServer, ServedAgent};
use toolhost_tests::own_sandbox;
use toolhost_tests::test_host::TestHost;

use crate::mcp::http_client::{Served, call as mcp_call};
use crate::mcp::peer::Peer;
use crate::mcp::{initialized, stateless};
use crate::rpc;

/// The servers of a test host, each with a client.
struct FrontEnds {
    peer: Peer,
    http: Served,
    rpc: rpc::Served,
}

impl FrontEnds {
    async fn start(test_host: &TestHost) -> Self {
        let bundle = LiveBundle::new(test_host.loaded.clone());
        let workdir = test_host.work.workdir.clone();
        let agent = ServedAgent::new(bundle).only_workdir("instance", workdir);
        let server = McpServer::new(agent, McpConfig::default());
        let config = |config: &mut toolhost_mcp::HttpConfig| {
            config.default_instance = "instance".to_owned();
        };
        Self {
            peer: initialized(&server).await,
            http: Served::start(&server, config).await,
            rpc: rpc::serve(rpc::config(test_host)),
        }
    }

    /// Makes a call through each, and asserts that all give the result of the library. Returns it.
    async fn call(&mut self, test_host: &TestHost, name: &str, args: Value) -> Value {
        let library = json!(test_host.call(name, args.clone()).await);
        let over_stream = self.peer.call(name, args.clone()).await;
        let mut request = mcp_call(name, args.clone());
        request["params"] = stateless(request["params"].take(), &json!({}));
        let headers = [
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", name),
        ];
        let over_http = self.http.post(&request, &headers);
        let over_http = over_http.await.message()["result"].take();
        let remote = self
            .rpc
            .client
            .request("call/execute", rpc::call(name, args));
        assert_eq!(remote.await, library, "{name}");
        for mut answer in [over_stream, over_http] {
            let mut result = answer["_meta"]["toolhost/result"].take();
            if let Some(output) = answer.get_mut("structuredContent") {
                result["output"] = output.take();
            }
            result["toolCallId"] = library["toolCallId"].clone();
            assert_eq!(result, library, "{name}");
        }
        library
    }
}

/// Fails or panics, as its input says.
async fn native(_: HandlerContext, input: JsonObject) -> Result<Value, HandlerError> {
    match input.get("do").and_then(Value::as_str) {
        Some("fail") => Err(HandlerError::new("x".repeat(5000)).with_code("OWN")),
        Some("panic") => panic!("a native tool"),
        _ => Ok(Value::Object(input)),
    }
}

#[tokio::test]
async fn extensions_give_every_front_end_the_same_results() {
    let tools: &[(&str, &str, &[&str])] = &[("text", "text", &["upper"])];
    let test_host = TestHost::with_tools(tools, "").await;
    let extended = test_host.agent.extend("test", |api| {
        for name in ["native__run", "native__refused", "native__broken"] {
            let item = json!({"name": name, "parameters": {"type": "object"}});
            let item: ToolCatalogItem = serde_json::from_value(item).unwrap();
            api.tools().register(item, native)?;
        }
        api.pipeline()
            .tool_call(0, |call: ToolCallContext, next: Next<_>| async move {
                assert_ne!(call.tool_name(), "native__broken", "a layer that panics");
                if call.tool_name() == "native__refused" && call.call_kind() != CallKind::Poll {
                    return call.refuse("needs approval");
                }
                next.run(call).await
            })
    });
    extended.unwrap();
    // A step has the tools as they were when it opened.
    let test_host = TestHost {
        step: test_host.another_step().await,
        ..test_host
    };
    let mut front_ends = FrontEnds::start(&test_host).await;
    let expected = [
        ("native__run", json!({"n": 1}), Value::Null),
        ("native__run", json!({"do": "fail"}), json!("OWN")),
        ("native__run", json!({"do": "panic"}), json!("E_TOOL_TRAP")),
        ("native__refused", json!({}), json!("E_MIDDLEWARE")),
        ("native__broken", json!({}), json!("E_MIDDLEWARE")),
    ];
    for (name, args, code) in expected {
        let result = front_ends.call(&test_host, name, args).await;
        assert_eq!(result["error"]["code"], code, "{result}");
    }
}

#[tokio::test]
async fn a_full_sandbox_is_busy_for_every_front_end() {
    let sandbox = own_sandbox(|config| {
        config.live_calls = 1;
        config.share_per_free = u32::MAX;
        config.queueing = Duration::from_millis(50);
    });
    let host = Host::builder().sandbox(sandbox.clone()).build().unwrap();
    let tools: &[(&str, &str, &[&str])] = &[
        ("sleep", "sleep_forever", &["run"]),
        ("text", "text", &["upper"]),
    ];
    let test_host = TestHost::with_tools_in(host, tools).await;
    let mut front_ends = FrontEnds::start(&test_host).await;
    let other = test_host.another_step().await;
    let sleeps = toolhost_tests::test_host::tool_call("sleep__run", json!({}));
    let sleeping = tokio::spawn(async move { other.execute_without_message(sleeps).await });
    toolhost_tests::eventually("it runs", || sandbox.free_call_slots() == 0).await;
    let result = front_ends.call(&test_host, "text__upper", json!({"text": "a"}));
    assert_eq!(result.await["error"]["code"], "E_TOOL_BUSY");
    sleeping.abort();
}

#[tokio::test]
async fn every_front_end_refuses_a_call_beyond_a_budget() {
    let tools: &[(&str, &str, &[&str])] = &[("text", "text", &["upper"])];
    let policy = "tools: {text: {budgets: {perDay: {calls: 1}}}}";
    let test_host = TestHost::with_tools(tools, policy).await;
    let mut front_ends = FrontEnds::start(&test_host).await;
    let args = json!({"text": "x"});
    assert!(
        test_host
            .call("text__upper", args.clone())
            .await
            .tool_error()
            .is_none()
    );
    // The message has the minutes until the reset, which must not change between the front ends.
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    if since % 60 > 55 {
        tokio::time::sleep(Duration::from_secs(60 - since % 60)).await;
    }
    let result = front_ends.call(&test_host, "text__upper", args).await;
    assert_eq!(result["error"]["code"], "E_TOOL_BUDGET", "{result}");
}

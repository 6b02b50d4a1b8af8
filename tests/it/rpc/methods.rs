//! Bundles, agents, catalogs, turns and steps.

use serde_json::json;
use toolhost::{Host, search::ToolExposure};
use toolhost_rpc::RpcConfig;
use toolhost_tests::sandbox;
use toolhost_tests::test_host::{write_bundle, yaml};

use super::{call, config, error_code, serve, tools};

#[tokio::test]
async fn a_client_loads_a_bundle_and_takes_a_turn() {
    let (dir, work, state) = (
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    write_bundle(
        dir.path(),
        &yaml(&[("text", "text", &["upper", "fail"])]),
        &["text"],
    );
    let host = Host::builder()
        .sandbox(sandbox())
        .state_root(state.path())
        .build();
    let mut served = serve(RpcConfig::new(host.unwrap()));
    let client = &mut served.client;

    let info = client.request("host/info", json!({})).await;
    assert_eq!(
        (&info["name"], &info["protocol"], &info["servesBundle"]),
        (&json!("toolhost"), &json!(1), &json!(false))
    );
    assert_eq!(
        client.fails("catalog/get", json!({})).await,
        "E_RPC_NOT_FOUND"
    );
    let loaded = client
        .request("bundle/load", json!({"path": dir.path()}))
        .await;
    assert_eq!(loaded["bundle"], "bundle-1");
    let agents = json!([{
        "name": "default", "tools": ["text__upper", "text__fail"], "requiredTools": [],
    }]);
    assert_eq!(loaded["agents"], agents);
    let listed = client.request("agents/list", json!({})).await;
    assert_eq!(listed["agents"], agents);
    let catalog = client
        .request("catalog/get", json!({"format": "openai"}))
        .await;
    assert_eq!(catalog["agent"], "default");
    assert_eq!(catalog["tools"][0]["function"]["name"], "text__upper");

    let opened = client
        .request(
            "turn/open",
            json!({
                "instance": {"bundle": "bundle-1", "agent": "default", "key": "k", "workdir": work.path()},
                "input": {"question": 1}, "traceId": "trace-1",
            }),
        )
        .await;
    let turn = opened["turn"].as_str().unwrap();
    assert!(turn.starts_with("turn-") && turn.len() == 21, "{turn}");
    assert_eq!(
        (
            &opened["traceId"],
            &opened["input"],
            &opened["requiredTools"]
        ),
        (&json!("trace-1"), &json!({"question": 1}), &json!([]))
    );
    let step = client
        .request("step/open", json!({"turn": turn, "format": "mcp"}))
        .await;
    assert_eq!(step["step"], format!("{turn}/step-1"));
    assert_eq!(step["tools"][0]["name"], "text__upper");
    let mut params = call("text__upper", json!({"text": "hi"}));
    params["step"] = step["step"].clone();
    let result = client.request("call/execute", params).await;
    assert_eq!(result["output"], json!({"text": "HI"}));

    let status = client.request("turn/status", json!({"turn": turn})).await;
    assert_eq!(
        (&status["steps"], &status["requiredToolsSatisfied"]),
        (&json!([step["step"]]), &json!(true))
    );
    let close = json!({"turn": turn, "answer": "done"});
    assert_eq!(
        client.fails("turn/close", close.clone()).await,
        "E_RPC_BUSY"
    );
    let closed = client
        .request("step/close", json!({"step": step["step"]}))
        .await;
    assert_eq!(closed, json!({"answer": null}));
    let closed = client.request("turn/close", close.clone()).await;
    assert_eq!(closed, json!({"answer": "done"}));
    assert_eq!(client.fails("turn/close", close).await, "E_RPC_NOT_FOUND");

    client
        .request("bundle/unload", json!({"bundle": "bundle-1"}))
        .await;
    assert_eq!(
        client.fails("agents/list", json!({})).await,
        "E_RPC_NOT_FOUND"
    );
}

#[tokio::test]
async fn a_bundle_that_does_not_load_is_an_error_with_its_findings() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("goondan.yaml"), "kind: Tool\n").unwrap();
    let host = Host::builder().sandbox(sandbox()).build().unwrap();
    let mut served = serve(RpcConfig::new(host));
    let client = &mut served.client;
    client
        .send("bundle/load", json!({"path": dir.path()}))
        .await;
    let answer = client.answer().await;
    assert_eq!(error_code(&answer), "E_RPC_BUNDLE");
    let findings = answer["error"]["data"]["diagnostics"].as_array().unwrap();
    assert!(
        findings
            .iter()
            .any(|finding| finding["severity"] == "error" && finding["line"].is_u64()),
        "{answer}"
    );
    let missing = json!({"path": dir.path().join("none")});
    assert_eq!(client.fails("bundle/load", missing).await, "E_RPC_BUNDLE");
    let relative = json!({"path": "bundle"});
    assert_eq!(client.fails("bundle/load", relative).await, "E_RPC_PARAMS");
}

#[tokio::test]
async fn a_turn_can_end_with_an_error() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let client = &mut served.client;
    let opened = client.request("turn/open", json!({})).await;
    let error = json!({"message": "no answer", "code": "MINE"});
    let params = json!({"turn": opened["turn"], "error": error, "answer": 1});
    assert_eq!(client.fails("turn/close", params).await, "E_RPC_PARAMS");
    let params = json!({"turn": opened["turn"], "error": error});
    let closed = client.request("turn/close", params).await;
    assert_eq!(
        (&closed["error"]["code"], &closed["error"]["message"]),
        (&json!("MINE"), &json!("no answer"))
    );
}

#[tokio::test]
async fn what_the_operator_sets_no_request_can_change() {
    let test_host = tools("").await;
    let other = tempfile::tempdir().unwrap();
    let mut served = serve(RpcConfig {
        agent: Some("default".to_owned()),
        instance: Some("fixed".to_owned()),
        ..config(&test_host)
    });
    let client = &mut served.client;
    let load = json!({"path": test_host.bundle.path()});
    assert_eq!(client.fails("bundle/load", load).await, "E_RPC_FIXED");
    for instance in [
        json!({"bundle": "bundle-1"}),
        json!({"agent": "default"}),
        json!({"key": "other"}),
        json!({"workdir": other.path()}),
    ] {
        let mut params = call(
            "writer__run",
            json!({"path": "/out", "bytes": 1, "mode": "write"}),
        );
        params["instance"] = instance.clone();
        for method in ["call/execute", "call/submit"] {
            assert_eq!(
                client.fails(method, params.clone()).await,
                "E_RPC_FIXED",
                "{method} {instance}"
            );
        }
        let params = json!({"instance": instance});
        assert_eq!(client.fails("turn/open", params).await, "E_RPC_FIXED");
    }
    assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 0);
    assert!(!test_host.work.path("out").exists());
}

#[tokio::test]
async fn a_workdir_that_no_tool_may_get_is_refused() {
    let secret = tempfile::tempdir().unwrap();
    let host = Host::builder()
        .sandbox(sandbox())
        .keep_out_of("the home directory", secret.path());
    let dir = tempfile::tempdir().unwrap();
    let manifest = yaml(&[("writer", "write_bytes", &["run"])]);
    write_bundle(dir.path(), &manifest, &["write_bytes"]);
    let host = host.build().unwrap();
    let bundle = host.load(dir.path()).await.unwrap();
    let mut served = serve(RpcConfig::new(host).bundle(bundle));
    let client = &mut served.client;
    for workdir in [
        json!(secret.path()),
        json!("/"),
        json!("."),
        json!("/does/not/exist"),
    ] {
        let mut params = call("writer__run", json!({"path": "/out", "bytes": 1}));
        params["instance"] = json!({"workdir": workdir});
        assert_eq!(client.fails("call/execute", params).await, "E_RPC_PARAMS");
    }
    // Without a state root there is no workspace.
    let params = call("writer__run", json!({"path": "/out", "bytes": 1}));
    assert_eq!(client.fails("call/execute", params).await, "E_RPC_PARAMS");
    assert_eq!(std::fs::read_dir(secret.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn wrong_parameters_are_named() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let client = &mut served.client;
    let check = [
        ("turn/open", json!({"inputs": 1}), "unknown field `inputs`"),
        ("turn/open", json!([1]), "`params` is not an object"),
        ("turn/status", json!({}), "missing field `turn`"),
        ("step/open", json!({"turn": 1}), "expected a string"),
        (
            "catalog/get",
            json!({"format": "xml"}),
            "unknown variant `xml`",
        ),
        ("call/execute", json!({}), "missing field `call`"),
        (
            "call/execute",
            json!({"call": {"id": "a", "name": "b"}, "message": {"role": "user"}}),
            "role must be 'assistant'",
        ),
        (
            "call/execute",
            json!({"call": {"id": "a", "name": "b"}, "step": "s", "instance": {}}),
            "exclude each other",
        ),
        ("host/info", json!({"x\n".repeat(1000): 1}), "unknown field"),
    ];
    for (method, params, says) in check {
        client.send(method, params).await;
        let answer = client.answer().await;
        assert_eq!(error_code(&answer), "E_RPC_PARAMS");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
        assert!(message.chars().count() < 400, "{message}");
    }
    assert_eq!(client.fails("no/method", json!({})).await, "E_RPC_METHOD");
}

#[tokio::test]
async fn a_member_that_is_not_listed_is_an_error_at_every_depth() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let client = &mut served.client;
    for (method, params, says) in [
        (
            "call/execute",
            json!({"call": {"id": "a", "name": "text__upper", "args": {}, "arguments": {"text": "a"}}}),
            "unknown field `arguments`",
        ),
        (
            "call/execute",
            json!({"call": {"id": "a", "name": "text__upper"}, "instance": {"keys": "a"}}),
            "unknown field `keys`",
        ),
    ] {
        client.send(method, params).await;
        let answer = client.answer().await;
        assert_eq!(error_code(&answer), "E_RPC_PARAMS");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn the_page_lists_every_method_and_every_error() {
    let page = std::fs::read_to_string(toolhost_tests::root("docs/rpc.md")).unwrap();
    let source = |file: &str| {
        let path = toolhost_tests::root("host/toolhost-rpc/src").join(file);
        std::fs::read_to_string(path).unwrap()
    };
    let quoted = |text: String, is_wanted: fn(&str) -> bool| -> Vec<String> {
        let parts = text.split('"').skip(1).step_by(2).map(str::to_owned);
        parts.filter(|part| is_wanted(part)).collect()
    };
    let methods = quoted(source("methods.rs"), |text| text.contains('/'));
    let codes = quoted(source("error.rs"), |text| text.starts_with("E_RPC_"));
    let events = quoted(source("events.rs"), |text| text.starts_with("events/"));
    assert_eq!((methods.len(), codes.len(), events.len()), (25, 14, 2));
    for name in methods.iter().chain(&codes).chain(&events) {
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
    }
}

#[tokio::test]
async fn clients_see_two_tools_of_a_bundle_that_they_load_if_the_operator_says_so() {
    let dir = tempfile::tempdir().unwrap();
    write_bundle(
        dir.path(),
        &yaml(&[("text", "text", &["upper"])]),
        &["text"],
    );
    let host = Host::builder().sandbox(sandbox()).build().unwrap();
    let mut served = serve(RpcConfig {
        tools: ToolExposure::Search,
        ..RpcConfig::new(host)
    });
    let client = &mut served.client;
    let loaded = client
        .request("bundle/load", json!({"path": dir.path()}))
        .await;
    let two = json!(["tools__search", "tools__call"]);
    assert_eq!(loaded["agents"][0]["tools"], two);
    // The same bundle again has them already.
    client
        .request("bundle/load", json!({"path": dir.path()}))
        .await;
    let catalog = client
        .request(
            "catalog/get",
            json!({"bundle": "bundle-1", "format": "mcp"}),
        )
        .await;
    let names: Vec<_> = catalog["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].clone())
        .collect();
    assert_eq!(json!(names), two);
}

//! The limits of a connection and of a server.

use std::time::Duration;

use serde_json::{Value, json};
use toolhost_rpc::{ConnectionEnd, RpcConfig, RpcLimits};

use super::{call, config, connect, error_code, serve, tools};

#[tokio::test]
async fn open_turns_and_steps_are_limited() {
    let test_host = tools("").await;
    let mut limits = RpcLimits::default();
    limits.turns = 2;
    limits.steps = 3;
    let mut served = serve(RpcConfig {
        limits,
        ..config(&test_host)
    });
    let client = &mut served.client;
    let first = client.request("turn/open", json!({})).await["turn"].take();
    let second = client.request("turn/open", json!({})).await["turn"].take();
    assert_eq!(client.fails("turn/open", json!({})).await, "E_RPC_LIMIT");
    client.request("turn/close", json!({"turn": second})).await;
    let third = client.request("turn/open", json!({})).await["turn"].take();
    for turn in [&first, &first, &third] {
        client.request("step/open", json!({"turn": turn})).await;
    }
    let fourth = json!({"turn": third});
    assert_eq!(client.fails("step/open", fourth).await, "E_RPC_LIMIT");
    // Another connection has its own, and not those of this one.
    let (mut other, _end) = connect(&served.server, 1 << 16);
    let status = json!({"turn": first});
    assert_eq!(other.fails("turn/status", status).await, "E_RPC_NOT_FOUND");
    other.request("turn/open", json!({})).await;
}

#[tokio::test]
async fn a_turn_that_is_not_used_is_dropped_but_not_one_whose_call_runs() {
    let test_host = tools("").await;
    let mut limits = RpcLimits::default();
    limits.line_timeout = Duration::from_millis(50);
    limits.idle_turn = Duration::from_secs(1);
    let mut served = serve(RpcConfig {
        limits,
        ..config(&test_host)
    });
    let client = &mut served.client;
    let idle = client.request("turn/open", json!({})).await["turn"].take();
    let used = client.request("turn/open", json!({})).await["turn"].take();
    let step = client.request("step/open", json!({"turn": used})).await["step"].take();
    let mut params = call("sleep__run", json!({"seconds": 2.0}));
    params["step"] = step;
    let result = client.request("call/execute", params).await;
    assert_eq!(result["status"], "ok");
    client.request("turn/status", json!({"turn": used})).await;
    let status = json!({"turn": idle});
    assert_eq!(client.fails("turn/status", status).await, "E_RPC_NOT_FOUND");
}

#[tokio::test]
async fn loaded_bundles_are_limited() {
    let test_host = tools("").await;
    let mut limits = RpcLimits::default();
    limits.bundles = 2;
    let config = RpcConfig {
        limits,
        ..RpcConfig::new(test_host.host.clone())
    };
    let mut served = serve(config);
    let client = &mut served.client;
    let load = json!({"path": test_host.bundle.path()});
    client.request("bundle/load", load.clone()).await;
    client.request("bundle/load", load.clone()).await;
    assert_eq!(
        client.fails("bundle/load", load.clone()).await,
        "E_RPC_LIMIT"
    );
    let unnamed = json!({});
    assert_eq!(client.fails("catalog/get", unnamed).await, "E_RPC_PARAMS");
    client
        .request("bundle/unload", json!({"bundle": "bundle-1"}))
        .await;
    let loaded = client.request("bundle/load", load).await;
    assert_eq!(loaded["bundle"], "bundle-3", "no id is used twice");
}

#[tokio::test]
async fn requests_beyond_the_limit_are_refused_and_those_that_run_are_answered() {
    let test_host = tools("").await;
    let mut limits = RpcLimits::default();
    limits.requests = 3;
    let mut served = serve(RpcConfig {
        limits,
        ..config(&test_host)
    });
    let client = &mut served.client;
    let mut running = Vec::new();
    for _ in 0..3 {
        let params = call("sleep__run", json!({"seconds": 2.0}));
        running.push(client.send("call/execute", params).await);
    }
    for _ in 0..200 {
        assert_eq!(client.fails("host/info", json!({})).await, "E_RPC_LIMIT");
    }
    for _ in &running {
        let answer = client.answer().await;
        assert!(running.contains(&answer["id"].as_i64().unwrap()));
        assert_eq!(answer["result"]["status"], "ok");
    }
    client.request("host/info", json!({})).await;
}

#[tokio::test]
async fn requests_that_take_too_much_memory_are_refused() {
    let test_host = tools("").await;
    let mut limits = RpcLimits::default();
    limits.request_bytes = 64 << 10;
    let mut served = serve(RpcConfig {
        limits,
        ..config(&test_host)
    });
    let client = &mut served.client;
    let large = |seconds: f64| {
        let padding = "x".repeat(40 << 10);
        call(
            "sleep__run",
            json!({"seconds": seconds, "padding": padding}),
        )
    };
    let first = client.send("call/execute", large(1.5)).await;
    let refused = client.fails("call/execute", large(0.0)).await;
    assert_eq!(refused, "E_RPC_LIMIT");
    assert_eq!(client.answer().await["id"], first);
    client.request("call/execute", large(0.0)).await;
    // Small values count more than their bytes.
    let mut values = call("sleep__run", json!({"values": vec![0; 5000]}));
    values["call"]["args"]["seconds"] = 1.5.into();
    let first = client.send("call/execute", values.clone()).await;
    assert_eq!(client.fails("call/execute", values).await, "E_RPC_LIMIT");
    assert_eq!(client.answer().await["id"], first);
}

#[tokio::test]
async fn a_connection_beyond_the_limit_gets_an_error_and_ends() {
    let test_host = tools("").await;
    let mut limits = RpcLimits::default();
    limits.connections = 1;
    let mut served = serve(RpcConfig {
        limits,
        ..config(&test_host)
    });
    served.client.request("host/info", json!({})).await;
    let (mut other, end) = connect(&served.server, 1 << 16);
    let refused = other.next().await.unwrap();
    assert_eq!(
        (error_code(&refused).as_str(), &refused["id"]),
        ("E_RPC_LIMIT", &Value::Null)
    );
    assert_eq!(other.next().await, None);
    assert_eq!(end.await.unwrap(), ConnectionEnd::Refused);
    // A connection that ends makes room.
    drop(served.client);
    assert_eq!(served.end.await.unwrap(), ConnectionEnd::Closed);
    let (mut third, _end) = connect(&served.server, 1 << 16);
    third.request("host/info", json!({})).await;
}

//! Clients that send what no client should, do not read, or vanish.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use toolhost_rpc::{ConnectionEnd, RpcConfig, RpcLimits};
use toolhost_tests::process_usage::ProcessUsage;

use super::{
    assert_stopped, call, config, connect, endless_call, error_code, serve, tools, until_it_writes,
};

/// Memory that a hostile client may cost, beside the limits: buffers, and what the allocator keeps.
const SLACK_BYTES: u64 = 64 << 20;

#[tokio::test]
async fn lines_that_are_no_requests_are_answered_and_the_connection_goes_on() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let client = &mut served.client;
    let deep = format!("{}{}", "[".repeat(150_000), "]".repeat(150_000));
    let open = "[".repeat(90_000);
    let values = format!("[{}0]", "0,".repeat(300_000));
    for (line, code) in [
        ("", "E_RPC_PARSE"),
        ("{\"jsonrpc\":", "E_RPC_PARSE"),
        ("\u{1b}[2J", "E_RPC_PARSE"),
        (deep.as_str(), "E_RPC_PARSE"),
        (open.as_str(), "E_RPC_PARSE"),
        (values.as_str(), "E_RPC_LIMIT"),
        ("[]", "E_RPC_REQUEST"),
        ("null", "E_RPC_REQUEST"),
        ("{}", "E_RPC_REQUEST"),
        (
            r#"{"jsonrpc":"2.0","id":{},"method":"host/info"}"#,
            "E_RPC_REQUEST",
        ),
    ] {
        client.write(line).await;
        let answer = client.answer().await;
        let beginning: String = line.chars().take(40).collect();
        assert_eq!(error_code(&answer), code, "{beginning}");
        assert_eq!(answer["id"], Value::Null, "{beginning}");
    }
    client.writer.write_all(b"\xff\xfe{}\n").await.unwrap();
    assert_eq!(error_code(&client.answer().await), "E_RPC_PARSE");
    // Responses and unknown notifications have no answer.
    client
        .write(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        .await;
    client.write(r#"{"jsonrpc":"2.0","method":"exit"}"#).await;
    client
        .write(r#"{"jsonrpc":"2.0","method":"$/cancel"}"#)
        .await;
    client.request("host/info", json!({})).await;
}

#[tokio::test]
async fn a_line_of_10_mb_is_a_request_and_one_beyond_16_mib_is_skipped() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let client = &mut served.client;
    let large = call("text__upper", json!({"text": "x".repeat(10_000_000)}));
    let result = client.request("call/execute", large).await;
    assert_eq!(result["error"]["code"], "E_TOOL_INVALID_ARGS");

    let before = ProcessUsage::now().peak;
    let part = vec![b'x'; 1 << 20];
    for _ in 0..300 {
        client.writer.write_all(&part).await.unwrap();
    }
    client.writer.write_all(b"\n").await.unwrap();
    assert_eq!(error_code(&client.answer().await), "E_RPC_LIMIT");
    client.request("host/info", json!({})).await;
    let grown = ProcessUsage::now().peak - before;
    assert!(grown < SLACK_BYTES, "{grown} bytes for a line of 300 MiB");
}

#[tokio::test]
async fn long_lines_of_many_connections_share_the_memory() {
    let test_host = tools("").await;
    let mut limits = RpcLimits::default();
    limits.line_bytes = 8 << 20;
    limits.all_bytes = 16 << 20;
    let served = serve(RpcConfig {
        limits,
        ..config(&test_host)
    });
    let before = ProcessUsage::now().rss;
    let part = vec![b'x'; 1 << 20];
    let mut clients = Vec::new();
    for _ in 0..20 {
        let (mut client, end) = connect(&served.server, 1 << 16);
        // As much as the server takes.
        let sent = async {
            for _ in 0..7 {
                client.writer.write_all(&part).await.unwrap();
            }
        };
        let _is_taken = timeout(Duration::from_millis(50), sent).await.is_ok();
        clients.push((client, end));
    }
    let grown = ProcessUsage::now().rss.saturating_sub(before);
    assert!(grown < SLACK_BYTES, "{grown} bytes for 20 lines of 7 MiB");
}

#[tokio::test]
async fn a_line_that_does_not_end_ends_the_connection() {
    let test_host = tools("").await;
    let mut limits = RpcLimits::default();
    limits.line_timeout = Duration::from_millis(100);
    let mut served = serve(RpcConfig {
        limits,
        ..config(&test_host)
    });
    served.client.request("host/info", json!({})).await;
    served.client.writer.write_all(b"{\"json").await.unwrap();
    assert_eq!(served.end.await.unwrap(), ConnectionEnd::LineTimeout);
    assert_eq!(served.client.next().await, None);
}

#[tokio::test]
async fn a_client_that_never_reads_is_not_read_and_then_disconnected() {
    let test_host = tools("").await;
    let mut limits = RpcLimits::default();
    limits.line_timeout = Duration::from_secs(1);
    let mut served = serve(RpcConfig {
        limits,
        ..config(&test_host)
    });
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "turn/status", "params": {"turn": "x"}});
    let line = format!("{request}\n").repeat(1000);
    let mut taken = 0;
    let flood = async {
        loop {
            match served.client.writer.write(line.as_bytes()).await {
                Ok(bytes) => taken += bytes,
                Err(_) => return,
            }
        }
    };
    timeout(Duration::from_secs(15), flood).await.unwrap();
    assert!(taken < 1 << 20, "{taken} bytes were read");
    assert_eq!(served.end.await.unwrap(), ConnectionEnd::NotReading);
}

#[tokio::test]
async fn answers_that_nobody_reads_are_limited_and_the_connection_ends() {
    let test_host = tools("").await;
    let mut limits = RpcLimits::default();
    limits.answer_bytes = 1 << 20;
    let mut served = serve(RpcConfig {
        limits,
        ..config(&test_host)
    });
    for _ in 0..20 {
        let params = call("text__upper", json!({"text": "x".repeat(200_000)}));
        // The server may already have ended the connection.
        let request = json!({"jsonrpc": "2.0", "id": served.client.last_id, "method": "call/execute", "params": params});
        served.client.last_id += 1;
        let line = format!("{request}\n");
        let _ = served.client.writer.write_all(line.as_bytes()).await;
    }
    assert_eq!(served.end.await.unwrap(), ConnectionEnd::NotReading);
}

#[tokio::test]
async fn a_client_that_vanishes_takes_its_calls_with_it() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let client = &mut served.client;
    let (_, step) = client.open_step().await;
    let mut params = endless_call();
    params["step"] = step;
    client.send("call/execute", params).await;
    until_it_writes(&test_host).await;
    drop(served.client);
    assert_eq!(served.end.await.unwrap(), ConnectionEnd::Closed);
    assert_stopped(&test_host).await;
}

#[tokio::test]
async fn ten_thousand_connections_that_come_and_go_leave_nothing() {
    let test_host = tools("").await;
    let served = serve(config(&test_host));
    let round = async |count: usize| {
        for _ in 0..count {
            let (mut client, end) = connect(&served.server, 1 << 12);
            client.request("turn/open", json!({})).await;
            drop(client);
            end.await.unwrap();
        }
    };
    round(1000).await;
    let before = ProcessUsage::now();
    round(9000).await;
    let after = ProcessUsage::now();
    assert!(
        after.rss.saturating_sub(before.rss) < 16 << 20,
        "{before:?} {after:?}"
    );
    assert_eq!(after.fds, before.fds);
}

//! Clients that send what is no message, or arguments that are no object: every one gets an answer at once.

use serde_json::{Value, json};

use super::http::{call_2026, headers_2026};
use super::http_client::{Answer, Served, call};
use super::peer::Peer;
use super::{initialized, server, test_host};

/// Lines that are no message, the id and code of their answer, and a part of its message.
fn lines() -> Vec<(Vec<u8>, Value, i32, &'static str)> {
    let text = |text: &str| text.as_bytes().to_vec();
    let call = |arguments: &str| {
        text(&format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo__say","arguments":{arguments}}}}}"#
        ))
    };
    vec![
        (text("hello"), Value::Null, -32700, "not valid JSON"),
        (
            text("{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\""),
            json!(7),
            -32700,
            "not valid JSON",
        ),
        (b"\xff".to_vec(), Value::Null, -32700, "UTF-8"),
        (text("[]"), Value::Null, -32600, "batches"),
        (
            text("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]"),
            Value::Null,
            -32600,
            "batches",
        ),
        (text(&"[".repeat(5000)), Value::Null, -32700, "deep"),
        (
            call("{\"seconds\": NaN}"),
            json!(7),
            -32700,
            "NaN at /params/arguments/seconds",
        ),
        (
            call(&format!("{}{}", "[".repeat(500), "]".repeat(500))),
            json!(7),
            -32700,
            "deep",
        ),
        (
            call(&format!("[{}0]", "0,".repeat(2000))),
            json!(7),
            -32700,
            "values",
        ),
        (
            text("{\"id\":7,\"method\":\"ping\"}"),
            json!(7),
            -32600,
            "`jsonrpc`",
        ),
        (
            text("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":[]}"),
            json!(7),
            -32602,
            "`params`",
        ),
    ]
}

fn check_answer(answer: &Value, (line, id, code, says): &(Vec<u8>, Value, i32, &str)) {
    let line = String::from_utf8_lossy(line);
    assert!(answer.get("id").is_some(), "{line}: {answer}");
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (id, &json!(code)),
        "{line}: {answer}"
    );
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains(says), "{line}: {message}");
}

#[tokio::test]
async fn every_line_that_cannot_be_read_is_answered_and_the_connection_goes_on() {
    let test_host = test_host().await;
    let server = server(&test_host, |config| {
        config.message_bytes = 10_000;
        config.message_values = 1_000;
    });
    let mut peer = Peer::connect(&server);
    // Also before the connection is initialized.
    peer.send_line("hello").await;
    assert_eq!(peer.next().await["error"]["code"], -32700);
    peer.initialize("2025-11-25").await;
    for line in lines() {
        peer.send_bytes(&line.0).await;
        check_answer(&peer.next().await, &line);
    }
    let long = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":9,\"x\":\"{}\"}}",
        "x".repeat(20_000)
    );
    peer.send_line(&long).await;
    let answer = peer.next().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(9), &json!(-32700))
    );
    // Lines without a message are no messages.
    peer.send_line("").await;
    peer.send_line("\r").await;
    let unknown = peer.request("tools/unknown", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    let malformed = peer.request("tools/call", json!({"name": 7})).await;
    assert_eq!(malformed["error"]["code"], -32602, "{malformed}");
    let message = malformed["error"]["message"].as_str().unwrap();
    assert!(message.contains("at `name`"), "{message}");
    let answer = peer
        .call("text__upper", json!({"text": "still here"}))
        .await;
    assert_eq!(answer["structuredContent"], json!({"text": "STILL HERE"}));
}

#[tokio::test]
async fn an_initialize_that_cannot_be_read_is_answered_and_may_be_sent_again() {
    let test_host = test_host().await;
    let mut peer = Peer::connect(&server(&test_host, |_| ()));
    let refused = peer
        .request("initialize", json!({"protocolVersion": 7}))
        .await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("at `protocolVersion`"), "{message}");
    peer.initialize("2025-11-25").await;
}

#[tokio::test]
async fn a_text_that_was_cut_within_a_character_and_a_byte_order_mark_are_read() {
    let test_host = test_host().await;
    let half = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"text__upper","arguments":{"text":"a\ud83d"}}}"#;
    let marked = format!("\u{feff}{half}");
    let server = server(&test_host, |_| ());
    let mut peer = initialized(&server).await;
    for line in [half, &marked] {
        peer.send_line(line).await;
        let answer = peer.response(7).await;
        assert_eq!(answer["result"]["structuredContent"]["text"], "A\u{fffd}");
    }
    let served = super::served(&test_host, |_| ()).await;
    let session = served.session("/mcp", &[]).await;
    for body in [half, &marked] {
        let answer = served
            .post_text("/mcp", body, &[("Mcp-Session-Id", &session)])
            .await;
        assert_eq!(answer.output()["text"], "A\u{fffd}", "{answer:?}");
    }
}

/// Arguments that are no object, and what is said of them.
fn wrong_arguments() -> [(Value, &'static str); 3] {
    [
        (json!([]), "must be a JSON object, and is an array"),
        (
            json!("{\"query\": \".\"}"),
            "is a string that contains JSON",
        ),
        (json!(7), "is a number"),
    ]
}

fn assert_wrong_arguments(answer: &Value, says: &str) {
    let result = &answer["result"];
    assert_eq!(result["isError"], true, "{says}: {answer}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains(says) && text.contains("E_TOOL_INVALID_ARGS"),
        "{text}"
    );
}

#[tokio::test]
async fn arguments_that_are_no_object_are_an_error_of_the_call_that_says_what_was_sent() {
    let test_host = test_host().await;
    let server = server(&test_host, |_| ());
    let mut peer = initialized(&server).await;
    for (arguments, says) in wrong_arguments() {
        let params = json!({"name": "text__upper", "arguments": arguments});
        assert_wrong_arguments(&peer.request("tools/call", params).await, says);
    }
    let answer = peer.call("echo__say", json!(null)).await;
    assert_eq!(answer["isError"], false, "no arguments are none: {answer}");
}

#[tokio::test]
async fn arguments_that_are_no_object_are_an_error_of_the_call_over_http_too() {
    let test_host = test_host().await;
    let served = super::served(&test_host, |_| ()).await;
    let session = served.session("/mcp", &[]).await;
    for (arguments, says) in wrong_arguments() {
        let message = call("text__upper", arguments.clone());
        let of_session = served.post(&message, &[("Mcp-Session-Id", &session)]).await;
        assert_wrong_arguments(&of_session.message(), says);
        let message = call_2026("text__upper", arguments);
        let headers = headers_2026("text__upper", &[]);
        let of_2026 = served.post(&message, &headers).await.message();
        assert_eq!(of_2026["result"]["resultType"], "complete");
        assert_wrong_arguments(&of_2026, says);
    }
}

#[tokio::test]
async fn an_integer_that_cannot_be_held_is_an_error_of_the_call_that_names_it() {
    let test_host = test_host().await;
    let text = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo__say","arguments":{"n":18446744073709551617}}}"#;
    let server = server(&test_host, |_| ());
    let mut peer = initialized(&server).await;
    peer.send_line(text).await;
    let of_stream = peer.response(7).await;
    let served = super::served(&test_host, |_| ()).await;
    let session = served.session("/mcp", &[]).await;
    let of_http = served
        .post_text("/mcp", text, &[("Mcp-Session-Id", &session)])
        .await;
    for answer in [of_stream, of_http.message()] {
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains("18446744073709551617 at /params/arguments/n"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn every_body_that_cannot_be_read_is_answered_with_json() {
    let test_host = test_host().await;
    let server = server(&test_host, |config| config.message_values = 1_000);
    let served = Served::start(&server, |config| {
        config.default_instance = "instance".into()
    })
    .await;
    for line in lines() {
        let answer = post_bytes(&served, &line.0).await;
        assert_eq!(answer.status, 400, "{answer:?}");
        assert_eq!(
            answer.header("content-type").as_deref(),
            Some("application/json")
        );
        check_answer(&answer.message(), &line);
    }
    let mut initialize = super::http_client::initialize();
    initialize["params"]["protocolVersion"] = json!(7);
    let answer = served.post(&initialize, &[]).await;
    assert_eq!(answer.message()["error"]["code"], -32602, "{answer:?}");
}

async fn post_bytes(served: &Served, body: &[u8]) -> Answer {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n",
        served.address,
        body.len()
    );
    let request = [head.as_bytes(), body].concat();
    Answer::read(&mut served.send_bytes(&request).await).await
}

#[tokio::test]
async fn every_response_names_the_type_of_its_body() {
    let served = super::served(&test_host().await, |config| {
        config.body_bytes = 10_000;
        config.tokens = vec![toolhost_mcp::BearerToken::new("a-token")];
    })
    .await;
    let host = served.address;
    let token = "Authorization: Bearer a-token";
    let json = "Content-Type: application/json";
    let both = "Accept: application/json, text/event-stream";
    let post = |headers: &[&str], body: &str| {
        let (headers, length) = (headers.join("\r\n"), body.len());
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\n{headers}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
    };
    let get = |path: &str, headers: &[&str]| {
        let headers = headers.join("\r\n");
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n\r\n")
    };
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let unknown = "Mcp-Session-Id: unknown";
    let version = "MCP-Protocol-Version: 1999-01-01";
    for (request, status) in [
        (post(&[token, json, both], list), 400),
        (post(&[token, json, both], "{"), 400),
        (post(&[token, json, both, version], list), 400),
        (post(&[token, json, both, "Last-Event-ID: 1"], list), 400),
        (post(&[json, both], list), 401),
        (post(&["Host: x", token, json, both], list), 403),
        (
            post(&["Origin: https://evil.example", token, json, both], list),
            403,
        ),
        (post(&[token, json, both, unknown], list), 404),
        (post(&[token, json], list), 406),
        (post(&[token, json, both], &"x".repeat(20_000)), 413),
        (post(&[token, "Content-Type: text/plain", both], list), 415),
        (get("/elsewhere", &[token]), 404),
        (get("/mcp", &[token]), 406),
        (get("/mcp", &[token, "Accept: text/event-stream"]), 400),
        (
            get("/mcp", &[token, "Accept: text/event-stream", unknown]),
            404,
        ),
        (get("/metrics", &[]), 401),
        (get("/metrics", &[token]), 200),
        (get("/healthz", &[]), 200),
        (get("/readyz", &[]), 200),
        (get("/healthz", &[]).replace("GET", "POST"), 405),
        (get("/mcp", &[token]).replace("GET", "PUT"), 405),
    ] {
        let answer = Answer::read(&mut served.send(&request).await).await;
        assert_eq!(answer.status, status, "{request}: {answer:?}");
        let kind = answer.header("content-type").unwrap_or_default();
        let is_known = ["text/plain", "application/"]
            .iter()
            .any(|known| kind.starts_with(known));
        assert!(is_known, "{request}: {answer:?}");
    }
}

#[tokio::test]
async fn the_requests_that_run_share_the_memory_and_no_instance_takes_all() {
    let test_host = test_host().await;
    // A quarter of it, 128 KiB, for one instance.
    let server = server(&test_host, |config| config.request_bytes = 512 << 10);
    let mut peer = initialized(&server).await;
    let padded = |kib: usize| json!({"name": "sleep__run", "arguments": {"seconds": 60}, "x": "x".repeat(kib << 10)});
    let first = peer.send("tools/call", padded(100)).await;
    let refused = peer.request("tools/call", padded(100)).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("this instance take all its memory"),
        "{refused}"
    );
    // One of many values, in 40 KB.
    let values = json!({"name": "echo__say", "arguments": {"a": vec![1; 2_000]}});
    let refused = peer.request("tools/call", values).await;
    assert!(refused["error"].is_object(), "values count: {refused}");
    let served = Served::start(&server, |config| {
        config.default_instance = "instance".into()
    })
    .await;
    let message = call_2026("echo__say", json!({"text": "x".repeat(100 << 10)}));
    let headers = headers_2026("echo__say", &[]);
    let answer = served.post(&message, &headers).await;
    assert_eq!(answer.status, 503, "{answer:?}");
    assert_eq!(answer.header("retry-after").as_deref(), Some("1"));
    assert_eq!(answer.message()["error"]["code"], -32603);
    let small = peer.call("echo__say", json!({"text": "small"})).await;
    assert_eq!(small["isError"], false);
    peer.notify("notifications/cancelled", json!({"requestId": first}))
        .await;
    let large = json!({"name": "echo__say", "arguments": {"text": "x".repeat(100 << 10)}});
    let next = peer.request("tools/call", large).await;
    assert_eq!(next["result"]["isError"], false, "{next}");
    let answer = served.post(&message, &headers).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

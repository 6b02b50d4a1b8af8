//! `http-fetch` against real servers on loopback.

use std::io::Write as _;

use serde_json::{Value, json};
use toolhost::ToolResult;
use toolhost_tests::test_host::TestHost;

use super::{fails, output};
use crate::http::server::{Server, ok};

/// Loads the tool with a policy that allows these origins.
async fn test_host(allow: &[String]) -> TestHost {
    let policy = json!({"tools": {"http-fetch": {"http": {"allow": allow}}}}).to_string();
    TestHost::with_tools(&[("http-fetch", "http-fetch", &["get", "post"])], &policy).await
}

async fn get(test_host: &TestHost, args: Value) -> ToolResult {
    test_host.call("http-fetch__get", args).await
}

#[tokio::test]
async fn get_returns_status_headers_and_body() {
    let server = Server::says(
        "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nx-a: 1\r\nX-A: 2\r\ncontent-length: 7\r\n\r\nh\u{e9}llo\n",
    );
    let test_host = test_host(&[server.origin()]).await;
    let url = format!("{}/a/b?c=d", server.origin());
    let result = get(&test_host, json!({"url": url, "headers": {"X-Own": "yes"}})).await;
    assert_eq!(
        *output(&result),
        json!({
            "url": url, "redirected": false, "status": 404, "ok": false, "body": "héllo\n",
            "charset": "utf-8", "truncated": false,
            "headers": {"content-type": "text/plain", "x-a": "1, 2", "content-length": "7"},
        })
    );
    let request = server.requests().remove(0).to_lowercase();
    assert!(
        request.starts_with("get /a/b?c=d http/1.1\r\n"),
        "{request}"
    );
    assert!(request.contains("x-own: yes") && request.contains("user-agent: toolhost-http-fetch"));
}

#[tokio::test]
async fn post_sends_text_or_json() {
    let server = Server::echo();
    let test_host = test_host(&[server.origin()]).await;
    for (body, kind, sent) in [
        (json!({"body": "plain ünï"}), "text/plain", "plain ünï"),
        (
            json!({"json": {"n": [1, 2]}}),
            "application/json",
            "{\"n\":[1,2]}",
        ),
        (
            json!({"body": "a=1", "headers": {"Content-Type": "application/x-www-form-urlencoded"}}),
            "application/x-www-form-urlencoded",
            "a=1",
        ),
        (json!({}), "user-agent", ""),
    ] {
        let mut args = body;
        args["url"] = json!(server.origin());
        let result = test_host.call("http-fetch__post", args).await;
        let echoed = output(&result)["body"].as_str().unwrap();
        assert!(echoed.starts_with("POST / HTTP/1.1\r\n"), "{echoed}");
        assert!(echoed.contains(kind) && echoed.ends_with(sent), "{echoed}");
    }
    // Larger than one write.
    let large = "x".repeat(300_000);
    let args = json!({"url": server.origin(), "body": large, "maxBytes": 500_000});
    let result = test_host.call("http-fetch__post", args).await;
    assert!(output(&result)["body"].as_str().unwrap().ends_with(&large));
}

#[tokio::test]
async fn a_body_larger_than_any_result_is_saved_and_sent_from_a_file() {
    let line = "0123456789abcde\n";
    let bytes = line.len() * 500_000;
    let server = Server::does(move |request, stream| {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n");
        if request.starts_with("GET ") {
            drop(stream.write_all(head.as_bytes()));
            for _ in 0..500 {
                drop(stream.write_all(line.repeat(1000).as_bytes()));
            }
        } else {
            let (_, body) = request.split_once("\r\n\r\n").unwrap();
            drop(stream.write_all(ok(&body.len().to_string()).as_bytes()));
        }
    });
    let test_host = test_host(&[server.origin()]).await;
    let args = json!({"url": server.origin(), "saveTo": "big/file.txt"});
    let result = get(&test_host, args).await;
    assert_eq!(output(&result)["bytes"], bytes);
    let saved = std::fs::read(test_host.work.path("big/file.txt")).unwrap();
    assert!(saved == line.repeat(500_000).into_bytes());
    let folder = std::fs::read_dir(test_host.work.path("big")).unwrap();
    assert_eq!(folder.count(), 1);
    let args = json!({"url": server.origin(), "bodyPath": "big/file.txt"});
    let result = test_host.call("http-fetch__post", args).await;
    assert_eq!(output(&result)["body"], bytes.to_string());
}

#[tokio::test]
async fn a_body_beyond_the_limits_of_a_call_leaves_no_file() {
    let long = Server::says(&ok(&"long ".repeat(100_000)));
    for (limits, code) in [
        ("httpResponseBytes: 64KiB", "HTTP_FAILED"),
        ("diskBytes: 64KiB", "E_TOOL_DISK_LIMIT"),
    ] {
        let policy = format!(
            "tools: {{http-fetch: {{http: {{allow: [\"{}\"]}}, limits: {{{limits}}}}}}}",
            long.origin()
        );
        let tools: &[(&str, &str, &[&str])] = &[("http-fetch", "http-fetch", &["get"])];
        let test_host = TestHost::with_tools(tools, &policy).await;
        let args = json!({"url": long.origin(), "saveTo": "new/file"});
        fails(&get(&test_host, args).await, code, "");
        let left = std::fs::read_dir(test_host.work.dir.path()).unwrap();
        assert_eq!(left.count(), 0);
    }
}

#[tokio::test]
async fn a_denied_origin_and_a_failing_server_give_different_errors() {
    let allowed = Server::says(&ok("in"));
    let closed = Server::says(&ok("never"));
    let test_host = test_host(&[allowed.origin(), "http://127.0.0.1:1".to_owned()]).await;
    let result = get(&test_host, json!({"url": closed.origin()})).await;
    fails(&result, "ORIGIN_DENIED", &closed.origin());
    let suggestion = result.tool_error().unwrap().suggestion.clone().unwrap();
    assert!(suggestion.contains("http"), "{suggestion}");
    assert_eq!(closed.accepted(), 0);
    // The same call with the grant.
    let result = get(&test_host, json!({"url": allowed.origin()})).await;
    assert_eq!(output(&result)["body"], "in");
    let result = get(&test_host, json!({"url": "http://127.0.0.1:1/"})).await;
    fails(&result, "CONNECTION_FAILED", "127.0.0.1:1");
    for (url, says) in [
        ("ftp://x/", "ftp"),
        ("nowhere", "relative URL"),
        ("http://u:p@x/", "user"),
    ] {
        fails(
            &get(&test_host, json!({"url": url})).await,
            "INVALID_URL",
            says,
        );
    }
    let args = json!({"url": allowed.origin(), "headers": {"connection": "upgrade"}});
    fails(&get(&test_host, args).await, "INVALID_HEADER", "connection");
}

#[tokio::test]
async fn redirects_are_followed_and_each_is_checked() {
    let end = Server::echo();
    let to = end.origin();
    let server = Server::does(move |request, stream| {
        let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
        let (status, location) = match path.as_str() {
            "/relative" => (302, "next/../there".to_owned()),
            "/out" => (307, format!("{to}/landed")),
            "/see" => (303, "/there".to_owned()),
            "/loop" => (301, "/loop".to_owned()),
            _ => return drop(stream.write_all(ok(request).as_bytes())),
        };
        let answer =
            format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
        drop(stream.write_all(answer.as_bytes()));
    });
    let both = test_host(&[server.origin(), end.origin()]).await;
    let url = |path: &str| format!("{}{path}", server.origin());

    let result = get(&both, json!({"url": url("/relative")})).await;
    assert_eq!(output(&result)["url"], url("/there"));
    let args = json!({"url": url("/see"), "body": "once"});
    let result = both.call("http-fetch__post", args).await;
    assert!(
        output(&result)["body"]
            .as_str()
            .unwrap()
            .starts_with("GET /there ")
    );
    // The body is sent again; headers for the first origin alone are not.
    let args = json!({"url": url("/out"), "body": "again", "headers": {"Authorization": "s3cret"}});
    let result = both.call("http-fetch__post", args).await;
    let echoed = output(&result)["body"].as_str().unwrap().to_owned();
    assert!(
        echoed.starts_with("POST /landed ") && echoed.ends_with("again"),
        "{echoed}"
    );
    assert!(!echoed.contains("s3cret"), "{echoed}");
    let result = get(&both, json!({"url": url("/loop"), "maxRedirects": 3})).await;
    fails(&result, "TOO_MANY_REDIRECTS", "/loop");

    let before = end.accepted();
    let one = test_host(&[server.origin()]).await;
    let result = get(&one, json!({"url": url("/out")})).await;
    fails(&result, "ORIGIN_DENIED", &end.origin());
    assert_eq!(end.accepted(), before);
}

#[tokio::test]
async fn long_bodies_are_truncated_and_binary_bodies_are_base64() {
    let binary = Server::does(|_, stream| {
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n\xff\x00\x01"));
    });
    let long = Server::says(&ok(&"long ".repeat(100_000)));
    let test_host = test_host(&[binary.origin(), long.origin()]).await;
    let result = get(&test_host, json!({"url": binary.origin()})).await;
    assert_eq!(output(&result)["body"], "/wAB");
    assert_eq!(output(&result)["base64"], true);
    let result = get(&test_host, json!({"url": long.origin(), "maxBytes": 12})).await;
    assert_eq!(output(&result)["body"], "long long lo");
    assert_eq!(output(&result)["truncated"], true);
    let result = get(&test_host, json!({"url": long.origin()})).await;
    assert_eq!(output(&result)["body"].as_str().unwrap().len(), 100_000);
}

#[tokio::test]
async fn a_silent_server_is_a_timeout() {
    let (_keep, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let silent = Server::does(move |_, _| {
        let _ended = wait.lock().unwrap().recv();
    });
    let test_host = test_host(&[silent.origin()]).await;
    let args = json!({"url": silent.origin(), "timeoutMs": 200});
    fails(&get(&test_host, args).await, "TIMEOUT", "");
}

//! Slow servers: timeouts, deadlines, dropped calls, and the release of connections.

use std::io::Write;
use std::time::Duration;

use serde_json::json;
use toolhost_tests::test_host::{TestHost, code};
use toolhost_tests::{eventually, sandbox};

use super::server::{Server, silent};
use super::{WEB, answer, error, fetch, fetch_within, policy};
use crate::leaks::{alone, stays_flat};

#[tokio::test]
async fn the_deadline_stops_a_call_that_waits_for_a_server() {
    let limits = json!({"deadlineMs": 1500});
    let server = silent();
    let http = json!({"allow": [server.origin()]});
    let result = fetch_within(&http, &limits, json!({"url": server.origin()})).await;
    // A request times out shortly before its call, so that the guest can read the error.
    if result.output().is_some() {
        assert_eq!(
            error(&result),
            "ErrorCode::ConnectionReadTimeout",
            "{result:?}"
        );
    } else {
        assert_eq!(code(&result), "E_TOOL_TIMEOUT", "{result:?}");
    }
    eventually("the connection is closed", || server.open() == 0).await;

    let dripping = Server::does(|_, stream| {
        let _sent = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let http = json!({"allow": [dripping.origin()]});
    let result = fetch_within(&http, &limits, json!({"url": dripping.origin()})).await;
    assert_eq!(code(&result), "E_TOOL_TIMEOUT", "{result:?}");
    assert!(result.usage().http_received > 0);
    eventually("the connection is closed", || dripping.open() == 0).await;
}

#[tokio::test]
async fn dropping_a_call_closes_its_connections() {
    let server = silent();
    let http = json!({"allow": [server.origin()]});
    let test_host = TestHost::with_tools(WEB, &policy(&http, &json!({}))).await;
    {
        let call = test_host.call(
            "web__run",
            json!({"url": server.origin(), "times": 3, "atOnce": 3}),
        );
        tokio::pin!(call);
        tokio::select! {
            result = &mut call => panic!("{result:?}"),
            () = eventually("the requests have arrived", || server.requests().len() == 3) => {}
        }
        assert_eq!(server.open(), 3);
    }
    eventually("the connections are closed", || server.open() == 0).await;
    // The waiting call held a slot, which is free now.
    eventually("the slot is free", || sandbox().free_call_slots() == 1_024).await;
}

#[tokio::test]
async fn a_guest_can_shorten_the_timeouts() {
    let server = silent();
    let http = json!({"allow": [server.origin()]});
    let input = json!({"url": server.origin(), "firstByteMs": 100});
    let result = fetch(&http, input).await;
    assert_eq!(error(&result), "ErrorCode::ConnectionReadTimeout");

    let slow = Server::does(|_, stream| {
        let _sent = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf");
        let _rest = std::io::copy(stream, &mut std::io::sink());
    });
    let http = json!({"allow": [slow.origin()]});
    let input = json!({"url": slow.origin(), "betweenBytesMs": 100});
    let result = fetch(&http, input).await;
    assert_eq!(error(&result), "connection read timeout");
    assert_eq!(answer(&result)["body"], "half");
}

#[test]
fn requests_leak_no_memory_files_or_threads() {
    alone(async {
        let server = Server::echo();
        let http = json!({"allow": [server.origin()]});
        let test_host = TestHost::with_tools(WEB, &policy(&http, &json!({}))).await;
        let denied = "http://localhost:1/";
        let url = server.origin();
        stays_flat("requests", 300, async |n| {
            // One response that is read, one that is not, and one denied request.
            let (url, read) = match n % 3 {
                0 => (url.as_str(), u64::MAX),
                1 => (url.as_str(), 0),
                _ => (denied, 0),
            };
            let result = test_host
                .call("web__run", json!({"url": url, "read": read}))
                .await;
            assert!(result.output().is_some(), "{result:?}");
            eventually("the connection is closed", || server.open() == 0).await;
        })
        .await;
    });
}

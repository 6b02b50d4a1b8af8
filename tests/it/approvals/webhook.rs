//! The webhook of a policy: who is told that a call waits, and what was decided.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use ring::hmac;
use serde_json::{Value, json};
use toolhost::approvals::Approvals;
use toolhost_tests::eventually;

use super::{Site, ended, write};
use crate::http::server::{Server, ok, silent};
use crate::system_failures::host_process::HostProcess;

const SECRET: &str = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The policy of a tool that waits before its changes are kept.
fn policy(server: &Server) -> String {
    let url = format!("{}/hook?a=b", server.origin());
    json!({
        "tools": {"files": {"ask": "effects"}},
        "approvals": {
            "page": "http://127.0.0.1:7333/",
            "webhook": {"url": url, "secret": {"secret": format!("whsec_{SECRET}")}},
        },
    })
    .to_string()
}

/// A request that a webhook received.
#[derive(Debug)]
struct Received {
    id: String,
    body: String,
}

impl Received {
    /// Reads a request, and verifies it as a receiver does.
    fn of(request: &str) -> Self {
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /hook?a=b HTTP/1.1\r\n"), "{head}");
        let header = |name: &str| {
            let mut lines = head.lines();
            let line = lines.find_map(|line| line.strip_prefix(&format!("{name}: ")));
            line.unwrap_or_else(|| panic!("{name}: {head}")).to_owned()
        };
        assert_eq!(header("content-type"), "application/json");
        let (id, timestamp) = (header("webhook-id"), header("webhook-timestamp"));
        let signature = header("webhook-signature");
        let signature = signature.strip_prefix("v1,").unwrap();
        let key = BASE64.decode(SECRET.as_bytes()).unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        let signed = format!("{id}.{timestamp}.{body}");
        let signature = BASE64.decode(signature.as_bytes()).unwrap();
        hmac::verify(&key, signed.as_bytes(), &signature).unwrap();
        assert!(hmac::verify(&key, format!("{signed} ").as_bytes(), &signature).is_err());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let age = now.unwrap().as_secs().abs_diff(timestamp.parse().unwrap());
        assert!(age < 60, "{timestamp}");
        Self {
            id,
            body: body.to_owned(),
        }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Waits until the server has received so many requests, and returns them.
async fn received(server: &Server, count: usize) -> Vec<Received> {
    let enough = || server.requests().len() >= count;
    eventually("the webhook is told", enough).await;
    let requests = server.requests();
    requests
        .iter()
        .map(|request| Received::of(request))
        .collect()
}

fn keys(value: &Value) -> Vec<&str> {
    let keys = value.as_object().unwrap().keys();
    keys.map(String::as_str).collect()
}

#[tokio::test]
async fn a_call_that_waits_and_its_decision_are_told_once_signed_and_without_what_it_would_do() {
    let server = Server::says(&ok(""));
    let site = Site::new();
    let running = site.start(&policy(&server)).await;
    let handle = running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    let waiting = running.waiting().await;
    let told = received(&server, 1).await;
    let json = told[0].json();
    assert_eq!(keys(&json), ["type", "timestamp", "data"]);
    assert_eq!(json["type"], "approval.waiting");
    let data = &json["data"];
    assert_eq!(
        *data,
        json!({
            "id": waiting.id, "agent": waiting.agent, "instance": "instance", "bundle": waiting.bundle,
            "tool": "files__write", "effect": "workdir", "digest": waiting.digest,
            "createdAt": waiting.created_at, "expiresAt": waiting.expires_at,
            "url": format!("http://127.0.0.1:7333/#/approvals/{}", waiting.id),
        })
    );
    assert_eq!(json["timestamp"], data["createdAt"]);
    // Whoever decides: also another process, which knows nothing of the webhook.
    let doors = Approvals::open(&site.path("state")).unwrap();
    doors
        .approve(&waiting.id, "alice", Some("it is fine"))
        .await
        .unwrap();
    let told = received(&server, 2).await;
    let json = told[1].json();
    assert_eq!(json["type"], "approval.decided");
    let decided = (&json["data"]["state"], &json["data"]["by"]);
    assert_eq!(decided, (&json!("approved"), &json!("alice")));
    assert_eq!(json["timestamp"], json["data"]["decidedAt"]);
    assert_ne!(told[0].id, told[1].id);
    ended(&running.instance, &handle).await;
    assert_eq!(site.work("a.txt").as_deref(), Some("new\n"));
    for told in &told {
        for unsaid in ["a.txt", "new\\n", "it is fine", &handle, SECRET] {
            assert!(!told.body.contains(unsaid), "{unsaid}: {}", told.body);
        }
    }
    running.host.flush_webhooks().await;
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn a_webhook_that_fails_is_told_again_with_the_same_id_and_no_redirect_is_followed() {
    let other = Server::says(&ok(""));
    let elsewhere = other.origin();
    let tries = AtomicUsize::new(0);
    let server = Server::does(move |_, stream: &mut TcpStream| {
        let answer = match tries.fetch_add(1, SeqCst) {
            0 => format!(
                "HTTP/1.1 302 Found\r\nlocation: {elsewhere}/hook\r\ncontent-length: 0\r\n\r\n"
            ),
            _ => ok(""),
        };
        drop(stream.write_all(answer.as_bytes()));
    });
    let site = Site::new();
    let running = site.start(&policy(&server)).await;
    running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    let told = received(&server, 2).await;
    assert_eq!((&told[0].id, &told[0].body), (&told[1].id, &told[1].body));
    running.host.flush_webhooks().await;
    assert_eq!((server.accepted(), other.accepted()), (2, 0));
    assert_eq!(site.work("a.txt"), None);
}

#[tokio::test]
async fn a_webhook_that_cannot_be_reached_or_does_not_answer_delays_no_call() {
    let slow = silent();
    let closed = {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let policy = policy(&slow);
        policy.replace(&slow.address.to_string(), &address.to_string())
    };
    for policy in [policy(&slow), closed] {
        let site = Site::new();
        let running = site.start(&policy).await;
        let begun = Instant::now();
        for name in ["a.txt", "b.txt", "c.txt"] {
            running.held("files__write", write(name), "workdir").await;
        }
        let waiting = running.approvals().waiting().await.unwrap();
        for one in &waiting {
            running
                .approvals()
                .approve(&one.id, "alice", None)
                .await
                .unwrap();
        }
        eventually("they are done", || {
            site.names() == ["a.txt", "b.txt", "c.txt"]
        })
        .await;
        assert!(
            begun.elapsed() < Duration::from_secs(8),
            "{:?}",
            begun.elapsed()
        );
    }
    eventually("it was tried", || slow.accepted() > 0).await;
}

#[tokio::test]
async fn a_notice_of_a_process_that_was_killed_is_sent_by_another_one_and_never_by_two_at_once() {
    let tries = AtomicUsize::new(0);
    let server = Server::does(move |_, stream: &mut TcpStream| {
        if tries.fetch_add(1, SeqCst) == 0 {
            // Until the other side is killed.
            let _rest = std::io::copy(stream, &mut std::io::sink());
        } else {
            drop(stream.write_all(ok("").as_bytes()));
        }
    });
    let site = Site::new();
    let policy = policy(&server);
    let mut killed = HostProcess::after("true");
    killed.must(json!({"op": "start", "state": site.path("state"), "policy": policy}));
    killed.must(json!({"op": "load", "bundle": site.path("bundle"), "work": site.path("work")}));
    killed.call("files__write", write("a.txt"));
    received(&server, 1).await;
    let running = site.start(&policy).await;
    // It has looked once by then: the store is open, and the other process sends it still.
    assert_eq!(running.approvals().waiting().await.unwrap().len(), 1);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(server.accepted(), 1);
    drop(killed);
    let told = received(&server, 2).await;
    assert_eq!((&told[0].id, &told[0].body), (&told[1].id, &told[1].body));
    running.host.flush_webhooks().await;
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn a_new_policy_tells_another_address_of_what_waits_from_then_on() {
    let (first, second) = (Server::says(&ok("")), Server::says(&ok("")));
    let site = Site::new();
    let running = site.start(&policy(&first)).await;
    running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    received(&first, 1).await;
    let policy = toolhost::Policy::parse(&policy(&second), "policy.yaml").unwrap();
    let host = running.host.with_policy(policy);
    let loaded = host.reload(&running.loaded).await.unwrap();
    let workdir = host.workdir(site.path("work")).unwrap();
    let agent = loaded.only_agent().unwrap();
    let step = toolhost_tests::test_host::open_step(&agent, "instance", &workdir).await;
    let call = toolhost_tests::test_host::tool_call_of("call-2", "files__write", write("b.txt"));
    let held = step.execute_without_message(call).await;
    assert!(held.awaits_approval().is_some(), "{held:?}");
    received(&second, 1).await;
    host.flush_webhooks().await;
    assert_eq!((first.accepted(), second.accepted()), (1, 1));
}

#[tokio::test]
async fn without_a_webhook_nothing_is_stored_for_one() {
    let site = Site::new();
    let running = site.start("tools: {files: {ask: effects}}").await;
    running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    running.approve().await;
    running.host.flush_webhooks().await;
    let database = rusqlite::Connection::open(site.path("state/toolhost.db")).unwrap();
    let sql = "SELECT count(*) FROM approval_notices";
    let rows: i64 = database.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 0);
}

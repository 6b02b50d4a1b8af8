//! The page on which people see calls and decide. Each attack asserts that its effect is absent.

use std::fs;
use std::path::Path;

use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use toolhost::LiveBundle;
use toolhost::approvals::Approvers;
use toolhost::recording::KeptRecordings;
use toolhost_page::{Page, PageConfig};
use tower_service::Service;

use super::{Running, Site, ended, write};
use crate::http::server::{Server, ok};

const ASKS: &str = "tools: {files: {ask: effects}}";
const TOKEN: &str = "the-token-of-alice-0123456789";

struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn message(&self) -> String {
        let json = self.json();
        json["error"]["message"].as_str().unwrap().to_owned()
    }
}

fn viewers() -> Approvers {
    let bob = ("bob".to_owned(), "the-token-of-bob-0123456789".to_owned());
    Approvers::new([("alice".to_owned(), TOKEN.to_owned()), bob])
}

fn page_of(running: &Running) -> Page {
    let live = LiveBundle::new(running.loaded.clone());
    Page::new(PageConfig::new(viewers()).bundle(live))
}

async fn send(page: &Page, request: Request<Full<bytes::Bytes>>) -> Reply {
    let response = page.clone().call(request).await.unwrap();
    let (head, body) = response.into_parts();
    Reply {
        status: head.status,
        headers: head.headers,
        body: body.collect().await.unwrap().to_bytes().to_vec(),
    }
}

async fn ask(page: &Page, method: Method, path: &str, body: &str, token: Option<&str>) -> Reply {
    let mut request = Request::builder().method(method).uri(format!("/{path}"));
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    let body = Full::from(body.to_owned());
    send(page, request.body(body).unwrap()).await
}

async fn get(page: &Page, path: &str) -> Value {
    let reply = ask(page, Method::GET, path, "", Some(TOKEN)).await;
    assert_eq!(reply.status, StatusCode::OK, "{path}: {}", reply.json());
    reply.json()
}

async fn post(page: &Page, path: &str, body: &Value) -> Reply {
    ask(page, Method::POST, path, &body.to_string(), Some(TOKEN)).await
}

#[tokio::test]
async fn nothing_but_the_token_of_a_viewer_opens_what_the_page_shows() {
    let site = Site::new();
    let running = site.start(ASKS).await;
    let handle = running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    let id = running.waiting().await.id;
    let page = page_of(&running);
    let decides = format!("api/approvals/{id}");
    let approve = json!({"decision": "approve"}).to_string();
    let requests = [
        (Method::GET, "api/info", ""),
        (Method::GET, "api/calls", ""),
        (Method::GET, "api/approvals", ""),
        (Method::GET, "api/agents", ""),
        (Method::GET, "api/nothing", ""),
        (Method::GET, decides.as_str(), ""),
        (Method::POST, decides.as_str(), approve.as_str()),
        (
            Method::POST,
            "api/agents/agent/calls",
            r#"{"tool": "files__write", "args": {"path": "b.txt", "content": ""}}"#,
        ),
    ];
    for (method, path, body) in requests {
        for token in [
            None,
            Some(""),
            Some("alice"),
            Some(id.as_str()),
            Some(handle.as_str()),
            Some(TOKEN.split_at(1).1),
        ] {
            let reply = ask(&page, method.clone(), path, body, token).await;
            assert_eq!(
                reply.status,
                StatusCode::UNAUTHORIZED,
                "{method} {path} {token:?}"
            );
            let text = String::from_utf8(reply.body).unwrap();
            assert!(!text.contains("a.txt") && !text.contains(&id), "{text}");
        }
        // What a browser adds by itself, and what a link can carry, opens nothing either.
        let uri = format!("/{path}?token={TOKEN}");
        let request = Request::builder().method(method.clone()).uri(uri);
        let request = request
            .header("cookie", format!("token={TOKEN}"))
            .header("origin", "http://127.0.0.1:7333");
        let reply = send(&page, request.body(Full::from(body.to_owned())).unwrap()).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{method} {path}");
    }
    assert_eq!(running.waiting().await.id, id);
    assert_eq!(site.names(), Vec::<String>::new());
}

#[tokio::test]
async fn every_answer_refuses_frames_scripts_of_others_and_guesses_of_types() {
    let site = Site::new();
    let running = site.start(ASKS).await;
    let page = page_of(&running);
    for path in [
        "",
        "assets/index.html",
        "nothing",
        "api/info",
        "api/calls?x=1",
        "../../etc/passwd",
        "assets/../Cargo.toml",
    ] {
        for token in [None, Some(TOKEN)] {
            let reply = ask(&page, Method::GET, path, "", token).await;
            let header = |name: &str| reply.headers[name].to_str().unwrap().to_owned();
            let policy = header("content-security-policy");
            for rule in [
                "default-src 'none'",
                "script-src 'self'",
                "frame-ancestors 'none'",
                "base-uri 'none'",
                "form-action 'none'",
            ] {
                assert!(policy.contains(rule), "{path}: {policy}");
            }
            assert!(!policy.contains("unsafe"), "{policy}");
            assert_eq!(header("x-frame-options"), "DENY");
            assert_eq!(header("x-content-type-options"), "nosniff");
            assert_eq!(header("cache-control"), "no-store");
            assert!(!reply.headers.contains_key("set-cookie"));
            assert!(!reply.headers.contains_key("access-control-allow-origin"));
        }
    }
    // A page of another origin asks first, and is not allowed.
    let preflight = ask(&page, Method::OPTIONS, "api/approvals", "", Some(TOKEN)).await;
    assert_eq!(preflight.status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn of_twenty_decisions_on_the_page_one_counts_and_the_others_learn_whose() {
    let site = Site::new();
    let running = site.start(ASKS).await;
    let handle = running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    let page = page_of(&running);
    let shown = get(&page, "api/approvals").await;
    let approval = &shown["approvals"][0];
    assert!(
        approval["what"]["files"][0]["diff"]
            .as_str()
            .unwrap()
            .contains("+new"),
        "{shown}"
    );
    assert_eq!(get(&page, "api/info").await["roots"][0]["waiting"], 1);
    let path = format!("api/approvals/{}", approval["id"].as_str().unwrap());
    let decisions = (0..20).map(|_| {
        let (page, path) = (page.clone(), path.clone());
        tokio::spawn(async move {
            post(
                &page,
                &path,
                &json!({"decision": "approve", "why": "looks right"}),
            )
            .await
        })
    });
    let decisions: Vec<_> = decisions.collect();
    let mut counted = 0;
    for decision in decisions {
        let reply = decision.await.unwrap();
        if reply.status == StatusCode::OK {
            counted += 1;
        } else {
            assert_eq!(reply.status, StatusCode::CONFLICT);
            assert!(
                reply.message().contains("approved already, by alice"),
                "{}",
                reply.message()
            );
        }
    }
    assert_eq!(counted, 1);
    ended(&running.instance, &handle).await;
    assert_eq!(site.work("a.txt").as_deref(), Some("new\n"));
    running.host.events().flush().await;
    let decided = get(&page, &path).await;
    assert_eq!(
        (&decided["decision"]["by"], &decided["decision"]["why"]),
        (&json!("alice"), &json!("looks right"))
    );
    // It says that it is done, and leads to its call, and the end of that to the call and to the approval.
    assert_eq!(decided["isOpen"], false, "{decided}");
    let calls = get(&page, "api/calls").await["calls"].take();
    let mut calls = calls.as_array().unwrap().iter();
    let settled = calls.find(|call| call["kind"] == "settled").unwrap();
    let end = get(&page, &format!("api/calls/{}", settled["id"])).await;
    assert_eq!(
        (&end["original"], &end["approval"]),
        (&decided["call"], &decided["id"]),
        "{end}"
    );
    assert!(decided["call"].is_u64());
    let brief = get(&page, &format!("{path}/brief")).await;
    assert_eq!(
        (&brief["state"], &brief["what"]),
        (&json!("approved"), &Value::Null)
    );
    let late = post(&page, &path, &json!({"decision": "deny"})).await;
    assert_eq!(late.status, StatusCode::CONFLICT);
    assert_eq!(get(&page, "api/info").await["roots"][0]["waiting"], 0);
}

#[tokio::test]
async fn a_state_root_that_cannot_be_read_hides_no_other_one() {
    let site = Site::new();
    let running = site.start(ASKS).await;
    running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    let broken = site.path("broken");
    fs::create_dir(&broken).unwrap();
    fs::write(broken.join("toolhost.db"), "no database").unwrap();
    let live = LiveBundle::new(running.loaded.clone());
    let config = PageConfig::new(viewers()).bundle(live).state_root(broken);
    let page = Page::new(config.call_options("--policy 'a policy.yaml'"));
    let roots = get(&page, "api/info").await["roots"].take();
    assert_eq!(
        (&roots[0]["waiting"], &roots[0]["error"]),
        (&json!(1), &Value::Null)
    );
    assert!(roots[1]["error"].is_string(), "{roots}");
    running.host.events().flush().await;
    let call = get(&page, "api/calls").await["calls"][0]["id"].take();
    let line = get(&page, &format!("api/calls/{call}")).await["line"].take();
    let line = line.as_str().unwrap();
    assert!(
        line.ends_with(" --policy 'a policy.yaml'") && line.starts_with("toolhost call /"),
        "{line}"
    );
}

#[tokio::test]
async fn what_is_not_understood_is_refused_and_does_nothing() {
    let site = Site::new();
    let running = site.start(ASKS).await;
    running
        .held("files__write", write("a.txt"), "workdir")
        .await;
    let page = page_of(&running);
    let path = format!("api/approvals/{}", running.waiting().await.id);
    for body in [
        "",
        "{}",
        "null",
        r#"{"decision": "Approve"}"#,
        r#"{"decision": "approve", "force": true}"#,
        r#"{"decision": "approve", "decision": "deny"}"#,
        r#"[{"decision": "approve"}]"#,
    ] {
        let reply = ask(&page, Method::POST, &path, body, Some(TOKEN)).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{body}");
    }
    let huge = "x".repeat((1 << 20) + 1);
    let reply = ask(&page, Method::POST, &path, &huge, Some(TOKEN)).await;
    assert_eq!(reply.status, StatusCode::PAYLOAD_TOO_LARGE);
    let approve = json!({"decision": "approve"}).to_string();
    for (method, path) in [
        (Method::POST, format!("{path}?now=1")),
        (Method::POST, format!("{path}?root=1")),
        (Method::POST, format!("{path}/")),
        (
            Method::POST,
            "api/approvals/approval_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".to_owned(),
        ),
        (Method::PUT, path.clone()),
        (Method::GET, format!("{path}?decision=approve")),
    ] {
        let reply = ask(&page, method, &path, &approve, Some(TOKEN)).await;
        assert!(reply.status.is_client_error(), "{path}");
    }
    for (query, message) in [
        ("status=good", "'status' is not ok, error or pending"),
        (
            "since=yesterday",
            "'since' is not a time such as 2026-11-27T08:00:00Z",
        ),
        ("before=x", "'before' is not a number"),
        ("tool=a&tool=b", "'tool' is given twice"),
        ("failed=1", "there is no parameter 'failed'"),
        ("root=7", "there is no such state root"),
    ] {
        let reply = ask(
            &page,
            Method::GET,
            &format!("api/calls?{query}"),
            "",
            Some(TOKEN),
        )
        .await;
        assert!(reply.status.is_client_error());
        assert_eq!(reply.message(), message);
    }
    assert_eq!(running.waiting().await.state.as_str(), "waiting");
    assert_eq!(site.names(), Vec::<String>::new());
}

#[tokio::test]
async fn a_recorded_call_is_shown_with_its_steps_what_it_sent_and_what_it_made() {
    let server = Server::says(&ok("hello"));
    let site = Site::new();
    let origin = server.origin();
    let policy = json!({"strict": false, "tools": {
        "web": {"http": {"allow": [format!("{origin}/*")]}},
        "caller": {"tools": ["*"]},
    }});
    let host = site
        .builder(&policy.to_string())
        .kept_recordings(KeptRecordings::All);
    let running = site.start_with(host).await;
    let page = page_of(&running);
    let steps = json!({"steps": [{"do": "call", "tool": "web__run", "args": {"url": format!("{origin}/x?y=1"), "method": "POST", "body": "b"}}]});
    let result = running.call("caller__run", steps).await;
    assert_eq!(result.tool_error(), None);
    running.host.events().flush().await;
    let listed = get(&page, "api/calls").await;
    let calls = listed["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2, "{listed}");
    let id = |tool: &str| {
        let call = calls.iter().find(|call| call["tool"] == tool);
        call.unwrap()["id"].as_u64().unwrap()
    };
    let outer = get(&page, &format!("api/calls/{}", id("caller__run"))).await;
    assert_eq!(outer["inner"][0]["tool"], "web__run");
    let line = outer["line"].as_str().unwrap();
    assert!(
        line.starts_with("toolhost call ") && line.contains(" caller__run --args '{"),
        "{line}"
    );
    let web = get(&page, &format!("api/calls/{}", id("web__run"))).await;
    assert_eq!(web["parent"]["tool"], "caller__run");
    let request = json!([{"method": "POST", "url": format!("{origin}/x?y=1"), "status": 200}]);
    assert_eq!(web["requests"], request, "{web}");
    assert_eq!(web["recording"]["full"], true);
    let path = format!("api/calls/{}", id("web__run"));
    let steps = get(&page, &format!("{path}/steps?limit=2")).await;
    let total = steps["total"].as_u64().unwrap();
    assert_eq!(steps["steps"].as_array().unwrap().len(), 2);
    assert_eq!(web["recording"]["steps"], total);
    let sends = get(&page, &format!("{path}/steps?function=outgoing-handler")).await;
    assert_eq!(sends["total"], 1, "{sends}");
    let replayed = post(&page, &format!("{path}/replay"), &Value::Null).await;
    assert_eq!(replayed.json()["same"], true, "{}", replayed.json());
    let file = ask(
        &page,
        Method::GET,
        &format!("{path}/recording"),
        "",
        Some(TOKEN),
    )
    .await;
    assert_eq!(
        file.body,
        fs::read(web["call"]["recording"].as_str().unwrap()).unwrap()
    );
    // The server has seen one request: a replay sends none.
    assert_eq!(server.requests().len(), 1);
    let stats = get(&page, "api/stats").await;
    assert_eq!((&stats["of"], &stats["counted"]), (&json!(2), &json!(2)));
}

#[tokio::test]
async fn a_call_is_shown_with_the_diffs_of_its_files_where_the_policy_keeps_them() {
    let site = Site::new();
    site.write("a.txt", "old\n");
    let policy = "{calls: {diffs: true}, tools: {files: {workdir: transactional, env: {K: {secret: sk-1234567890}}}}}";
    let running = site.start(policy).await;
    let args = json!({"path": "a.txt", "content": "new sk-1234567890\n"});
    let result = running.call("files__write", args.clone()).await;
    assert_eq!(result.tool_error(), None);
    running.host.events().flush().await;
    let shown = get(&page_of(&running), "api/calls/1").await;
    let file = &shown["diffs"][0];
    let diff = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-old\n+new [redacted:K]\n";
    assert_eq!(
        (&file["path"], &file["diff"]),
        (&json!("a.txt"), &json!(diff)),
        "{shown}"
    );

    let other = Site::new();
    let running = other
        .start("tools: {files: {workdir: transactional}}")
        .await;
    running.call("files__write", args).await;
    running.host.events().flush().await;
    let shown = get(&page_of(&running), "api/calls/1").await;
    assert_eq!(
        (&shown["call"]["files"][0]["path"], &shown["diffs"]),
        (&json!("a.txt"), &json!([])),
        "{shown}"
    );
}

#[tokio::test]
async fn a_file_outside_of_the_state_root_is_not_read_as_a_recording() {
    let site = Site::new();
    let host = site.builder("").kept_recordings(KeptRecordings::All);
    let running = site.start_with(host).await;
    running.call("files__read", json!({"path": "a.txt"})).await;
    running.host.events().flush().await;
    let page = page_of(&running);
    let call = get(&page, "api/calls/1").await;
    let recording = Path::new(call["call"]["recording"].as_str().unwrap()).to_owned();
    let outside = site.path("outside.call");
    fs::copy(&recording, &outside).unwrap();
    let link = recording.with_file_name("link.call");
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let up = recording
        .parent()
        .unwrap()
        .join("../../../../../../outside.call");
    assert!(up.exists(), "{}", up.display());
    let database = rusqlite::Connection::open(site.path("state/calls.db")).unwrap();
    for path in [
        outside.as_path(),
        &link,
        &up,
        Path::new("/dev/zero"),
        recording.parent().unwrap(),
        Path::new(""),
    ] {
        let update = "UPDATE details SET recording = ?1 WHERE id = 1";
        database.execute(update, [path.to_str().unwrap()]).unwrap();
        for what in ["steps", "recording", "case"] {
            let reply = ask(
                &page,
                Method::GET,
                &format!("api/calls/1/{what}"),
                "",
                Some(TOKEN),
            )
            .await;
            assert_eq!(
                reply.status,
                StatusCode::NOT_FOUND,
                "{what} {}",
                path.display()
            );
        }
        let shown = get(&page, "api/calls/1").await;
        assert!(
            shown["recording"]["problem"].is_string(),
            "{}: {shown}",
            path.display()
        );
    }
}

#[tokio::test]
async fn a_call_by_hand_is_under_the_policy_of_its_agent() {
    let site = Site::new();
    let running = site.start(ASKS).await;
    let page = page_of(&running);
    let agents = get(&page, "api/agents").await;
    let agent = &agents["agents"][0];
    let path = format!("api/agents/{}/calls", agent["name"].as_str().unwrap());
    let has = |tool: &str| {
        agent["tools"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["name"] == tool)
    };
    assert!(has("files__write") && has("web__run"), "{agents}");
    let lines = agent["policy"].as_array().unwrap();
    let files = lines
        .iter()
        .find(|it| it["tool"] == "files__write")
        .unwrap();
    assert!(
        files["lines"]
            .to_string()
            .contains("may wait for the approval of a person"),
        "{files}"
    );
    for (tool, args, code) in [
        ("no__tool", json!({}), "E_TOOL_NOT_IN_CATALOG"),
        ("files__write", json!({"path": 1}), "INVALID_INPUT"),
    ] {
        let made = post(&page, &path, &json!({"tool": tool, "args": args}))
            .await
            .json();
        assert_eq!(made["result"]["error"]["code"], code, "{made}");
        assert!(made["id"].is_u64());
    }
    let made = post(
        &page,
        &path,
        &json!({"tool": "files__write", "args": write("a.txt"), "instance": "by-hand"}),
    )
    .await;
    assert_eq!(
        made.json()["result"]["details"]["reason"],
        "awaiting-approval",
        "{}",
        made.json()
    );
    assert_eq!(running.waiting().await.instance, "by-hand");
    let unknown = post(
        &page,
        "api/agents/nobody/calls",
        &json!({"tool": "files__read", "args": {}}),
    )
    .await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    // A page without the bundle shows the same calls, and makes none.
    let other = Page::new(PageConfig::new(viewers()).state_root(site.path("state")));
    assert_eq!(
        get(&other, "api/calls").await["calls"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(
        get(&other, "api/approvals").await["approvals"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let refused = post(&other, &path, &json!({"tool": "files__read", "args": {}})).await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND);
    assert_eq!(site.names(), Vec::<String>::new());
}

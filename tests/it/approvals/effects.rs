//! Calls that run up to their first effect that needs consent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use serde_json::{Value, json};
use toolhost::{HandlerError, JsonObject};
use toolhost_tests::test_host::{code, open_step, tool_call_of};

use super::{Site, ended, write};
use crate::extensions::item;
use crate::http::server::{Server, ok};

fn web(server: &Server) -> String {
    let origin = server.origin();
    json!({"tools": {"web": {"http": {"allow": [format!("{origin}/*")]}, "ask": "effects"}}})
        .to_string()
}

#[tokio::test]
async fn the_approver_sees_the_diff_of_each_file() {
    let site = Site::new();
    site.write("a.txt", "one\ntwo\n");
    site.write("gone.txt", "gone\n");
    let policy = "tools: {caller: {workdir: transactional, tools: ['*'], ask: effects}}";
    let running = site.start(policy).await;
    let steps = json!({"steps": [
        {"do": "write", "path": "a.txt", "text": "one\nthree\n"},
        {"do": "write", "path": "b.txt", "text": "new\n"},
        {"do": "call", "tool": "files__remove", "args": {"path": "gone.txt"}},
    ]});
    running.held("caller__run", steps, "workdir").await;
    let what = running.waiting().await.what;
    let files = what["files"].as_array().unwrap();
    let at = |index: usize| {
        (
            files[index]["path"].as_str().unwrap(),
            files[index]["kind"].as_str().unwrap(),
        )
    };
    assert_eq!(
        (at(0), at(1), at(2)),
        (
            ("a.txt", "changed"),
            ("b.txt", "created"),
            ("gone.txt", "deleted")
        )
    );
    assert_eq!(
        files[0]["diff"],
        "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"
    );
    assert_eq!(
        files[1]["diff"],
        "--- b.txt\n+++ b.txt\n@@ -0,0 +1 @@\n+new\n"
    );
    assert!(
        files[2]["diff"].as_str().unwrap().ends_with("-gone\n"),
        "{}",
        files[2]
    );
    assert_eq!(site.names(), ["a.txt", "gone.txt"]);
}

#[tokio::test]
async fn a_call_without_effects_and_one_with_allowed_ones_does_not_wait() {
    let site = Site::new();
    let policy = "tools: {files: {ask: {effects: {workdir: [\"src/*\"]}}}}";
    let running = site.start(policy).await;
    std::fs::create_dir(site.path("work/src")).unwrap();
    let written = running.call("files__write", write("a.txt")).await;
    assert_eq!(written.tool_error(), None);
    assert_eq!(site.work("a.txt").as_deref(), Some("new\n"));
    let read = running.call("files__read", json!({"path": "a.txt"})).await;
    assert_eq!(read.output().unwrap()["content"], "new\n");
    running
        .held("files__write", write("src/a.txt"), "workdir")
        .await;
    assert_eq!(site.work("src/a.txt"), None);
}

#[tokio::test]
async fn a_request_is_held_shown_and_sent_once_as_it_was() {
    let server = Server::echo();
    let site = Site::new();
    let running = site.start(&web(&server)).await;
    let url = format!("{}/orders?n=1", server.origin());
    let args = json!({"url": url, "method": "POST", "body": "pay 5", "headers": {"x-kind": "a"}});
    let handle = running.held("web__run", args, "http").await;
    assert_eq!(server.accepted(), 0);
    let what = running.waiting().await.what;
    assert_eq!(
        (&what["method"], &what["url"], &what["body"]),
        (&json!("POST"), &json!(url), &json!("pay 5"))
    );
    assert!(
        what["headers"].to_string().contains("[\"x-kind\",\"a\"]"),
        "{what}"
    );
    running.approve().await;
    let result = ended(&running.instance, &handle).await;
    let answer = &result.output().unwrap()["answers"][0];
    assert_eq!(answer["status"], 200);
    assert!(answer["body"].as_str().unwrap().ends_with("pay 5"));
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_second_run_gets_the_times_the_random_numbers_and_the_answers_of_the_first() {
    // Each answer is another one: a second request would change what is sent afterwards.
    let count = AtomicUsize::new(0);
    let server = Server::does(move |request, stream| {
        let number = count.fetch_add(1, SeqCst);
        let body = format!("{number} {}", request.lines().last().unwrap_or_default());
        drop(std::io::Write::write_all(stream, ok(&body).as_bytes()));
    });
    let site = Site::new();
    let policy = web(&server);
    let running = site.start(&policy).await;
    let (first, url) = (
        format!("{}/state", server.origin()),
        format!("{}/send", server.origin()),
    );
    let args =
        json!({"url": url, "method": "POST", "first": first, "times": 2, "write": "note.txt"});
    let handle = running.held("web__run", args, "http").await;
    assert_eq!((server.accepted(), site.names()), (1, vec![]));
    let body = running.waiting().await.what["body"].clone();
    let (id, digest) = {
        let it = running.waiting().await;
        (it.id, it.digest)
    };
    drop(running);
    tokio::time::sleep(Duration::from_millis(20)).await;
    // Another process. The second request is asked for by itself, and is the same one.
    let again = site.start(&policy).await;
    again.approvals().approve(&id, "alice", None).await.unwrap();
    let held = again.instance.poll(&handle).await;
    assert_eq!(
        held.awaits_approval().unwrap().effect.as_str(),
        "http",
        "{held:?}"
    );
    assert_eq!(server.accepted(), 2);
    let second = again.waiting().await;
    assert_eq!((&second.what["body"], second.digest), (&body, digest));
    assert_ne!(second.id, id);
    again.approve().await;
    // Then what it wrote.
    let held = again.instance.poll(&handle).await;
    assert_eq!(
        held.awaits_approval().unwrap().effect.as_str(),
        "workdir",
        "{held:?}"
    );
    assert_eq!((server.accepted(), site.names()), (3, vec![]));
    again.approve().await;
    let result = ended(&again.instance, &handle).await;
    let answers = result.output().unwrap()["answers"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(answers.len(), 2);
    assert!(
        answers[0]["body"].as_str().unwrap().starts_with("1 "),
        "{answers:?}"
    );
    assert!(
        answers[1]["body"].as_str().unwrap().starts_with("2 "),
        "{answers:?}"
    );
    // No request was sent twice.
    assert_eq!(
        (server.accepted(), site.names()),
        (3, vec!["note.txt".to_owned()])
    );
}

#[tokio::test]
async fn requests_at_once_wait_one_after_the_other_and_each_is_sent_once() {
    let server = Server::echo();
    let site = Site::new();
    let running = site.start(&web(&server)).await;
    let url = format!("{}/x", server.origin());
    let args = json!({"url": url, "method": "POST", "body": "b", "times": 4, "atOnce": 4});
    let handle = running.held("web__run", args, "http").await;
    for sent in 0..4 {
        assert_eq!(server.accepted(), sent);
        running.approve().await;
        let reply = running.instance.poll(&handle).await;
        assert_eq!(reply.awaits_approval().is_some(), sent < 3, "{reply:?}");
    }
    let result = ended(&running.instance, &handle).await;
    assert_eq!(
        result.output().unwrap()["answers"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
    assert_eq!(server.accepted(), 4);
}

#[tokio::test]
async fn what_a_program_calls_waits_within_its_time_and_a_stopped_one_does_nothing_later() {
    let site = Site::new();
    let policy =
        "tools: {caller: {tools: ['*'], limits: {deadlineMs: 3000}}, files: {ask: always}}";
    let running = site.start(policy).await;
    let steps = json!({"steps": [{"do": "call", "tool": "files__write", "args": write("a.txt")}]});
    let program = running.call("caller__run", steps.clone());
    let person = async {
        let id = loop {
            let waiting = running.approvals().waiting().await.unwrap();
            if let Some(one) = waiting.first() {
                break one.id.clone();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        assert_eq!(site.names(), Vec::<String>::new());
        running
            .approvals()
            .approve(&id, "alice", None)
            .await
            .unwrap();
    };
    let (result, ()) = tokio::join!(program, person);
    assert_eq!(
        result.output().unwrap()[0]["ok"]["written"],
        true,
        "{result:?}"
    );
    assert_eq!(site.names(), ["a.txt"]);
    std::fs::remove_file(site.path("work/a.txt")).unwrap();
    // Nobody decides in its time.
    let result = running.call("caller__run", steps).await;
    assert_eq!(code(&result), "E_TOOL_TIMEOUT");
    for _ in 0..400 {
        if running.approvals().waiting().await.unwrap().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(running.approvals().waiting().await.unwrap().is_empty());
    assert_eq!(site.names(), Vec::<String>::new());
}

#[tokio::test]
async fn what_the_calls_of_a_program_change_is_held_as_one() {
    let site = Site::new();
    let policy = "tools: {caller: {tools: ['*'], workdir: transactional}, files: {ask: effects}}";
    let running = site.start(policy).await;
    let steps = json!({"steps": [
        {"do": "call", "tool": "files__write", "args": write("a.txt")},
        {"do": "call", "tool": "files__read", "args": {"path": "a.txt"}},
        {"do": "write", "path": "b.txt", "text": "own"},
    ]});
    let handle = running.held("caller__run", steps, "workdir").await;
    let what = running.waiting().await.what;
    assert_eq!(what["files"].as_array().unwrap().len(), 2);
    assert_eq!(site.names(), Vec::<String>::new());
    running.approve().await;
    let result = ended(&running.instance, &handle).await;
    assert_eq!(result.output().unwrap()[1]["ok"]["content"], "new\n");
    assert_eq!(site.names(), ["a.txt", "b.txt"]);
}

#[tokio::test]
async fn a_program_whose_request_waits_gets_the_answers_of_its_calls_again() {
    let server = Server::echo();
    let site = Site::new();
    let origin = server.origin();
    let policy = json!({"tools": {
        "caller": {"tools": ["*"], "ask": "effects"},
        "web": {"http": {"allow": [format!("{origin}/*")]}, "ask": "never"},
    }});
    let running = site.start(&policy.to_string()).await;
    let args = json!({"url": format!("{origin}/x"), "method": "POST", "body": "b"});
    let steps = json!({"steps": [
        {"do": "call", "tool": "web__run", "args": args},
        {"do": "write", "path": "a.txt", "text": "x"},
    ]});
    let handle = running.held("caller__run", steps, "workdir").await;
    assert_eq!(server.accepted(), 1);
    running.approve().await;
    let result = ended(&running.instance, &handle).await;
    assert_eq!(result.tool_error(), None);
    // What is held needs no second run.
    assert_eq!(
        (server.accepted(), site.names()),
        (1, vec!["a.txt".to_owned()])
    );
}

#[tokio::test]
async fn a_component_that_answers_later_waits_with_its_changes_and_in_its_polls() {
    let site = Site::new();
    let running = site.start("tools: {later: {ask: effects}}").await;
    let args = json!({"handle": "write:polled.txt", "write": "first.txt"});
    let handle = running.held("later__run", args, "workdir").await;
    assert_eq!(site.names(), Vec::<String>::new());
    running.approve().await;
    let polled = running.instance.poll(&handle).await;
    // By then its changes are kept, or it has been polled as well.
    assert!(polled.handle() == Some(handle.as_str()), "{polled:?}");
    for _ in 0..200 {
        if !running.approvals().waiting().await.unwrap().is_empty() {
            break;
        }
        running.instance.poll(&handle).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(site.names(), ["first.txt"]);
    running.approve().await;
    let result = ended(&running.instance, &handle).await;
    assert_eq!(result.output(), Some(&json!(true)));
    assert_eq!(site.names(), ["first.txt", "polled.txt"]);
}

#[tokio::test]
async fn a_conflict_runs_the_call_again_and_asks_again() {
    let site = Site::new();
    site.write("a.txt", "old\n");
    let running = site
        .start("tools: {caller: {tools: ['*'], ask: effects}}")
        .await;
    let steps = json!({"steps": [
        {"do": "read", "path": "a.txt"},
        {"do": "write", "path": "a.txt", "text": "new\n"},
    ]});
    let handle = running.held("caller__run", steps, "workdir").await;
    site.write("a.txt", "by somebody\n");
    let first = running.approve().await;
    let reply = running.instance.poll(&handle).await;
    assert_eq!(
        reply.awaits_approval().unwrap().effect.as_str(),
        "workdir",
        "{reply:?}"
    );
    assert_eq!(site.work("a.txt").as_deref(), Some("by somebody\n"));
    let second = running.waiting().await;
    assert_ne!(second.id, first.id);
    assert!(
        second.what["files"][0]["diff"]
            .as_str()
            .unwrap()
            .contains("-by somebody\n+new\n")
    );
    running.approve().await;
    let result = ended(&running.instance, &handle).await;
    assert_eq!(result.output().unwrap()[0]["ok"], "by somebody\n");
    assert_eq!(site.work("a.txt").as_deref(), Some("new\n"));
}

#[tokio::test]
async fn a_call_of_a_native_tool_waits_before_it_runs() {
    let site = Site::new();
    let policy = "{strict: false, tools: {mail: {ask: effects}}}";
    let running = site.start(policy).await;
    let agent = running.loaded.only_agent().unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let extended = agent.extend("mail-ext", |api| {
        api.tools()
            .register(item("mail__send"), move |_, input: JsonObject| {
                counted.fetch_add(1, SeqCst);
                async move { Ok::<_, HandlerError>(Value::Object(input)) }
            })
    });
    extended.unwrap();
    let workdir = running.host.workdir(site.path("work")).unwrap();
    let step = open_step(&agent, "instance", &workdir).await;
    let held = step.execute_without_message(tool_call_of("c", "mail__send", json!({"to": "x"})));
    let held = held.await;
    assert_eq!(
        held.awaits_approval().unwrap().effect.as_str(),
        "call",
        "{held:?}"
    );
    assert_eq!(sent.load(SeqCst), 0);
    running.approve().await;
    let result = ended(&running.instance, held.handle().unwrap()).await;
    assert_eq!(result.output(), Some(&json!({"to": "x"})));
    assert_eq!(sent.load(SeqCst), 1);
}

#[tokio::test]
async fn changes_that_cannot_all_be_shown_are_refused_and_not_made() {
    let site = Site::new();
    let policy = "tools: {caller: {tools: ['*'], ask: effects}}";
    let running = site.start(policy).await;
    let write = |number: usize| json!({"do": "write", "path": format!("{number}"), "text": "x"});
    let steps = |count: usize| json!({"steps": (0..count).map(write).collect::<Vec<_>>()});
    let refused = running.call("caller__run", steps(1_001)).await;
    assert_eq!(code(&refused), "E_TOOL_DISK_LIMIT");
    let message = &refused.tool_error().unwrap().message;
    assert!(
        message.contains("Change fewer files in one call"),
        "{message}"
    );
    assert!(running.approvals().waiting().await.unwrap().is_empty());
    assert_eq!((site.names(), site.staged()), (vec![], vec![]));
    // What it used is in the result.
    let usage = refused.usage();
    assert!(
        usage.changes_dropped && usage.changes.is_empty(),
        "{usage:?}"
    );
    assert!(usage.bytes_written >= 1_001, "{usage:?}");
    // As many as can be shown.
    running.held("caller__run", steps(1_000), "workdir").await;
    let listed = running.waiting().await;
    assert!(listed.what.is_null(), "a list leaves it out");
    let what = running.approvals().get(&listed.id).await.unwrap().what;
    let files = what["files"].as_array().unwrap();
    assert_eq!(files.len(), 1_000);
    assert!(files.iter().all(|file| file["digest"].is_string()));
    assert_eq!((&files[0]["type"], site.names()), (&json!("file"), vec![]));
}

#[tokio::test]
async fn a_run_that_stops_at_a_request_has_written_nothing_where_files_are_not_asked_for() {
    let server = Server::echo();
    let site = Site::new();
    let origin = server.origin();
    let effects = json!({"effects": {"workdir": false}});
    let http = json!({"allow": [format!("{origin}/*")]});
    let policy = json!({"tools": {"web": {"http": http, "ask": effects}}});
    let running = site.start(&policy.to_string()).await;
    let (first, url) = (format!("{origin}/first"), format!("{origin}/send"));
    let args =
        json!({"url": url, "method": "POST", "first": first, "times": 2, "write": "note.txt"});
    let handle = running.held("web__run", args, "http").await;
    assert_eq!(site.names(), Vec::<String>::new());
    running.approve().await;
    // The second request waits as well, and the run before it has left nothing.
    for _ in 0..400 {
        if !running.approvals().waiting().await.unwrap().is_empty() {
            break;
        }
        running.instance.poll(&handle).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(site.names(), Vec::<String>::new());
    running.approve().await;
    let result = ended(&running.instance, &handle).await;
    // Its changes are committed without another question.
    assert_eq!(result.tool_error(), None);
    assert_eq!(site.names(), ["note.txt"]);
}

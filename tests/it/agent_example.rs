//! `examples/agent.rs` against a scripted server with OpenAI's API for chat completions.

use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use toolhost_tests::eventually;
use toolhost_tests::test_host::{copy_program_tool, write_bundle, yaml};

use crate::http::server::Server;

/// Sends a message in pieces, as events: its text, and its calls, each with arguments in two pieces.
fn stream(stream: &mut TcpStream, text: &str, calls: &[(&str, &str, &str)]) {
    let mut chunks = vec![json!({"delta": {"role": "assistant", "content": text}})];
    for (index, (id, name, arguments)) in calls.iter().enumerate() {
        let (first, rest) = arguments.split_at(arguments.len() / 2);
        let begin = json!({"index": index, "id": id, "type": "function",
            "function": {"name": name, "arguments": first}});
        chunks.push(json!({"delta": {"tool_calls": [begin]}}));
        let rest = json!({"index": index, "function": {"arguments": rest}});
        chunks.push(json!({"delta": {"tool_calls": [rest]}}));
    }
    let mut events = String::new();
    for chunk in chunks {
        events += &format!("data: {}\n\n", json!({"choices": [chunk]}));
    }
    let usage = json!({"choices": [], "usage": {"total_tokens": 100}});
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let answer = format!("{head}{events}data: {usage}\n\ndata: [DONE]\n\n");
    // The example may have been stopped.
    drop(stream.write_all(answer.as_bytes()));
}

/// Returns the messages of each request.
fn messages(server: &Server) -> Vec<Vec<Value>> {
    let requests = server.requests();
    let body = |request: &String| {
        let (_, body) = request.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        body["messages"].as_array().unwrap().clone()
    };
    requests.iter().map(body).collect()
}

fn start(bundle: &Path, workdir: &Path, server: &Server) -> Child {
    start_with(&[], bundle, workdir, server)
}

fn start_with(options: &[&str], bundle: &Path, workdir: &Path, server: &Server) -> Child {
    let url = format!("{}/v1", server.origin());
    Command::new(env!("CARGO_BIN_EXE_agent"))
        .args(options)
        .arg(bundle)
        .args([&url, "scripted", "do it"])
        .env("OPENAI_API_KEY", "sk-of-the-test")
        .current_dir(workdir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn printed(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Writes a bundle with the tools of the tests.
fn bundle() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let tools = [
        ("text", "text", &["upper", "count", "fail"][..]),
        ("wait", "sleep_forever", &["run"]),
        ("busy", "sleep_forever", &["run"]),
        ("w", "write_bytes", &["run"]),
    ];
    let guests = ["text", "sleep_forever", "write_bytes"];
    write_bundle(dir.path(), &yaml(&tools), &guests);
    dir
}

#[test]
fn the_agent_runs_calls_at_once_in_the_background_and_answers_refusals() {
    let (bundle, workdir) = (bundle(), tempfile::tempdir().unwrap());
    let requests = AtomicUsize::new(0);
    let server = Server::does(move |_, client| match requests.fetch_add(1, SeqCst) {
        0 => stream(
            client,
            "Let me see. ",
            &[
                ("call_a", "text__upper", r#"{"text": "a"}"#),
                ("call_b", "text__upper", r#"{"text": "b"}"#),
                ("call_c", "bash__exec", r#"{"command": "touch denied"}"#),
                ("call_d", "w__run", r#"{"path": "/../denied", "bytes": 1}"#),
                ("call_e", "wait__run", r#"{"seconds": 0.5}"#),
                ("call_f", "w__run", r#"{"path": "/cut"#),
            ],
        ),
        1 => stream(client, "I wait. ", &[]),
        _ => stream(client, "Done.", &[]),
    });
    let output = start(bundle.path(), workdir.path(), &server).wait_with_output();
    let output = output.unwrap();
    let (stdout, stderr) = printed(&output);
    assert!(output.status.success(), "{stderr}");
    assert_eq!(stdout, "Let me see. \nI wait. \nDone.\n");

    let requests = messages(&server);
    let [first, second, third] = &*requests else {
        panic!("{requests:#?}");
    };
    assert_eq!(first, &[json!({"role": "user", "content": "do it"})]);
    let calls = second[1]["tool_calls"].as_array().unwrap();
    assert_eq!(calls[0]["function"]["arguments"], r#"{"text": "a"}"#);
    let answers: Vec<(&str, &str)> = second[2..]
        .iter()
        .map(|answer| {
            (
                answer["tool_call_id"].as_str().unwrap(),
                answer["content"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(answers[0], ("call_a", r#"{"text":"A"}"#));
    assert_eq!(answers[1], ("call_b", r#"{"text":"B"}"#));
    let codes = [
        (2, "call_c", "E_TOOL_NOT_IN_CATALOG"),
        (5, "call_f", "E_TOOL_INVALID_ARGS"),
    ];
    for (index, id, code) in codes {
        assert_eq!(answers[index].0, id);
        assert!(answers[index].1.contains(code), "{:?}", answers[index]);
    }
    assert!(answers[3].1.contains("EPERM"), "{:?}", answers[3]);
    assert!(answers[4].1.starts_with("PENDING: "), "{:?}", answers[4]);
    assert_eq!(
        third.last().unwrap()["content"],
        r#"The result of call_e: {"slept":0.5}"#
    );
    let made: Vec<_> = std::fs::read_dir(workdir.path()).unwrap().collect();
    assert!(made.is_empty(), "{made:?}");
    assert!(!workdir.path().parent().unwrap().join("denied").exists());
    // The key is in the headers of requests, and nowhere else.
    let request = &server.requests()[0];
    assert!(
        request.contains("authorization: Bearer sk-of-the-test"),
        "{request}"
    );
    assert!(!stderr.contains("sk-of-the-test"), "{stderr}");
}

#[tokio::test]
async fn ctrl_c_cancels_the_call_that_runs_and_ends_the_turn() {
    let (bundle, workdir) = (bundle(), tempfile::tempdir().unwrap());
    let server = Server::does(|_, client| {
        let begins = r#"{"write": {"path": "/begun", "bytes": 1}}"#;
        stream(client, "", &[("call_a", "busy__run", begins)]);
    });
    let child = start(bundle.path(), workdir.path(), &server);
    let begun = workdir.path().join("begun");
    eventually("the call runs", || begun.exists()).await;
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let (_, stderr) = printed(&output);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("E_TOOL_CANCELLED"), "{stderr}");
    assert_eq!(
        server.requests().len(),
        1,
        "no further message is asked for"
    );
}

#[test]
fn a_server_that_fails_ends_the_agent_with_its_status() {
    let (bundle, workdir) = (bundle(), tempfile::tempdir().unwrap());
    let server = Server::says("HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n");
    let output = start(bundle.path(), workdir.path(), &server).wait_with_output();
    let output = output.unwrap();
    let (_, stderr) = printed(&output);
    assert!(!output.status.success());
    assert!(stderr.contains("429"), "{stderr}");
}

#[test]
fn in_code_mode_the_model_sees_search_and_programs_alone_and_programs_call_the_others() {
    let (bundle, workdir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tools = [
        ("text", "text", &["upper"][..]),
        ("javascript", "javascript", &["run", "script"]),
    ];
    write_bundle(bundle.path(), &yaml(&tools), &["text"]);
    if !copy_program_tool("javascript", bundle.path()) {
        return;
    }
    let requests = AtomicUsize::new(0);
    let program = json!({"code": "return (await Promise.all(['a', 'b'].map((text) => tools.text.upper({ text })))).map(({ text }) => text)"});
    let program = program.to_string();
    let server = Server::does(move |_, client| match requests.fetch_add(1, SeqCst) {
        0 => stream(client, "", &[("call_a", "javascript__script", &program)]),
        _ => stream(client, "Done.", &[]),
    });
    let child = start_with(&["--code-mode"], bundle.path(), workdir.path(), &server);
    let output = child.wait_with_output().unwrap();
    let (_, stderr) = printed(&output);
    assert!(output.status.success(), "{stderr}");
    let request = &server.requests()[0];
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let seen = body["tools"].as_array().unwrap().iter();
    let seen: Vec<_> = seen
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(seen, ["javascript__script", "tools__search"]);
    let answer = &messages(&server)[1][2];
    assert_eq!(answer["content"], r#"{"result":["A","B"]}"#);
}

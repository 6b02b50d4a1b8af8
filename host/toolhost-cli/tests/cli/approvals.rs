//! Calls that wait for a person's consent, on the command line and over JSON-RPC.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rpc::{Client, call};
use crate::terminal::{Ran, Terminal, examples};

const POLICY: &str =
    "{strict: false, tools: {file-system: {ask: {allow: [{export: read}], default: effects}}}}";

fn terminal() -> Terminal {
    let terminal = crate::calls::terminal();
    terminal.write("policy.yaml", POLICY);
    terminal.write("D/a.txt", "one\ntwo\n");
    terminal
}

/// Runs a command on the approvals of the test.
fn approvals(terminal: &Terminal, words: &[&str]) -> Ran {
    let state = ["--state-root", "../state"];
    terminal.run(words.iter().chain(&state))
}

/// Runs a command over the examples, with the policy and the workdir of the test.
fn run(terminal: &Terminal, command: &str, words: &[&str]) -> Ran {
    let mut command = terminal.toolhost([command]);
    command.arg(examples()).args(words);
    command.args(["--policy", "../policy.yaml", "--state-root", "../state"]);
    command.arg("--workdir").arg(terminal.path("D"));
    Ran::of(&mut command)
}

const WRITE: [&str; 3] = [
    "file-system__write",
    "--args",
    "{\"path\": \"a.txt\", \"content\": \"one\\nthree \\u001b[31m\\n\"}",
];

#[test]
fn an_operator_sees_a_change_before_it_is_made_and_approves_it() {
    let terminal = terminal();
    let none = approvals(&terminal, &["approvals"]).exits(0);
    assert_eq!(none.stdout, "no call waits for approval\n");
    approvals(&terminal, &["approvals", "show", "approval_x"])
        .fails(1, "no approval has the id 'approval_x'");
    let held = run(&terminal, "call", &WRITE).exits(0);
    assert!(
        held.stderr
            .contains("a person has to approve it: `toolhost approvals`"),
        "{held:?}"
    );
    let result = held.json();
    assert_eq!(result["details"]["reason"], "awaiting-approval");
    let handle = result["handle"].as_str().unwrap();
    let listed = approvals(&terminal, &["approvals"]).exits(0);
    assert!(
        listed
            .stdout
            .contains("waiting  coder/cli  file-system__write changes a.txt"),
        "{listed:?}"
    );
    let id = listed.stdout.split_whitespace().next().unwrap().to_owned();
    let shown = approvals(&terminal, &["approvals", "show", &id]).exits(0);
    // What the tool wrote cannot move the cursor.
    assert!(
        shown.stdout.contains("\n  -two\n  +three \\u{1b}[31m"),
        "{shown:?}"
    );
    assert_eq!(
        fs::read_to_string(terminal.path("D/a.txt")).unwrap(),
        "one\ntwo\n"
    );
    let approved = approvals(&terminal, &["approve", &id, "--by", "ann", "--why", "fine"]).exits(0);
    assert!(
        approved.stdout.starts_with(&format!("approved {id}")),
        "{approved:?}"
    );
    approvals(&terminal, &["deny", &id]).fails(1, "it was approved already, by ann at ");
    let polled = run(&terminal, "poll", &[handle]).exits(0);
    assert_eq!(polled.json()["output"]["written"], true);
    let text = fs::read_to_string(terminal.path("D/a.txt")).unwrap();
    assert_eq!(text, "one\nthree \u{1b}[31m\n");
    let all = approvals(&terminal, &["approvals", "--all", "--json"])
        .exits(0)
        .json();
    let decision = &all["approvals"][0]["decision"];
    assert_eq!(
        (&decision["by"], &decision["why"]),
        (&json!("ann"), &json!("fine"))
    );
}

#[test]
fn a_denied_call_says_why_and_changes_nothing() {
    let terminal = terminal();
    let handle = run(&terminal, "call", &WRITE).exits(0).json()["handle"].clone();
    let id = approvals(&terminal, &["approvals", "--json"])
        .exits(0)
        .json()["approvals"][0]["id"]
        .clone();
    let words = ["deny", id.as_str().unwrap(), "--why", "use b.txt"];
    approvals(&terminal, &words).exits(0);
    let ended = run(&terminal, "poll", &[handle.as_str().unwrap()])
        .exits(1)
        .json();
    assert_eq!(ended["error"]["code"], "E_TOOL_APPROVAL_DENIED");
    assert!(
        ended["error"]["message"]
            .as_str()
            .unwrap()
            .ends_with("was not approved: use b.txt")
    );
    assert_eq!(
        fs::read_to_string(terminal.path("D/a.txt")).unwrap(),
        "one\ntwo\n"
    );
}

#[test]
fn check_says_which_rule_decides_about_a_call() {
    let terminal = terminal();
    let mut check = terminal.toolhost(["check"]);
    check.arg(examples()).args(["--policy", "../policy.yaml"]);
    check.args(["--call", "file-system__read", "--args", "{\"path\": \"x\"}"]);
    let ran = Ran::of(&mut check).exits(0);
    let expected =
        "coder file-system__read: allowed, by the rule {\"allow\":{\"export\":\"read\"}} at ";
    assert!(ran.stdout.contains(expected), "{ran:?}");
    let mut check = terminal.toolhost(["check"]);
    check
        .arg(examples())
        .args(["--policy", "../policy.yaml", "--call", "file-system__write"]);
    let ran = Ran::of(&mut check).exits(0);
    assert!(
        ran.stdout
            .contains("file-system__write: asks for its effects, as no rule is for it"),
        "{ran:?}"
    );
}

#[test]
fn check_says_what_becomes_of_calls_of_tools_that_are_no_components() {
    let terminal = crate::calls::terminal();
    let manifest = "apiVersion: goondan.ai/v1\nkind: McpServer\nmetadata: {name: tickets}\nspec: {transport: {stdio: {command: [tickets]}}}\n";
    terminal.write("bundle/goondan.yaml", manifest);
    let policy = "mcpServers: {tickets: {command: [tickets]}}\ntools: {tickets: {ask: effects}}\n";
    terminal.write("policy.yaml", policy);
    let mut check = terminal.toolhost(["check", "../bundle", "--policy", "../policy.yaml"]);
    check.args(["--call", "tickets__close"]);
    let ran = Ran::of(&mut check).exits(0);
    // What it does is not seen before it is done, and it is not started.
    let expected = "tickets__close: asks before it runs, as no rule is for it";
    assert!(ran.stdout.contains(expected), "{ran:?}");
}

#[test]
fn of_twenty_commands_at_once_one_decides() {
    let terminal = terminal();
    let handle = run(&terminal, "call", &WRITE).exits(0).json()["handle"].clone();
    let listed = approvals(&terminal, &["approvals", "--json"])
        .exits(0)
        .json();
    let id = listed["approvals"][0]["id"].as_str().unwrap();
    let deciding: Vec<_> = (0..20)
        .map(|number| {
            let word = if number % 2 == 0 { "approve" } else { "deny" };
            let by = format!("person {number}");
            let mut command =
                terminal.toolhost([word, id, "--by", &by, "--state-root", "../state"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            (word, by, command.spawn().unwrap())
        })
        .collect();
    let ended: Vec<_> = deciding
        .into_iter()
        .map(|(word, by, child)| (word, by, child.wait_with_output().unwrap()))
        .collect();
    let counts: Vec<_> = ended
        .iter()
        .filter(|(.., output)| output.status.success())
        .collect();
    assert_eq!(counts.len(), 1, "{counts:?}");
    let (word, first, _) = counts[0];
    for (_, by, output) in ended.iter().filter(|(_, by, _)| by != first) {
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{by}: {error}");
        assert!(
            error.contains(&format!(" already, by {first} at ")),
            "{error}"
        );
    }
    let is_approved = *word == "approve";
    run(&terminal, "poll", &[handle.as_str().unwrap()]).exits(i32::from(!is_approved));
    let text = fs::read_to_string(terminal.path("D/a.txt")).unwrap();
    assert_eq!(text != "one\ntwo\n", is_approved);
}

#[test]
fn over_json_rpc_only_a_token_of_an_approver_lists_and_decides() {
    let terminal = terminal();
    let token = "0123456789abcdef0123456789abcdef";
    terminal.write("approvers", format!("ann {token}\n"));
    let approvers = terminal.path("approvers");
    let serve = || {
        let mut command = terminal.toolhost(["rpc", "--quiet", "--workdir", "../D"]);
        command.args(["--policy", "../policy.yaml", "--approvers", "../approvers"]);
        command.args(["--state-root", "../state"]);
        command.arg(examples());
        command
    };
    Ran::of(&mut serve()).fails(2, "can be read or changed by others");
    fs::set_permissions(&approvers, Permissions::from_mode(0o600)).unwrap();
    let mut child = serve()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (stdout, stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let mut client = Client::new(stdout, stdin);
    let mut ask = |method: &str, params: &Value| {
        client.send(1, method, params);
        client.answer()
    };
    let args = json!({"path": "a.txt", "content": "new\n"});
    let mut params = call("file-system__write", &args);
    params["instance"] = json!({"agent": "coder"});
    let held = ask("call/execute", &params)["result"].take();
    assert_eq!(held["details"]["effect"], "workdir", "{held}");
    let handle = held["handle"].as_str().unwrap();
    // The handle is all that the agent has.
    for token in ["", handle, "0123456789abcdef0123456789abcdeg"] {
        for method in [
            "approvals/list",
            "approvals/get",
            "approvals/approve",
            "approvals/deny",
        ] {
            let mut params = json!({"token": token, "id": "approval_x"});
            if method == "approvals/list" {
                params = json!({"token": token});
            }
            let refused = ask(method, &params);
            assert_eq!(
                refused["error"]["data"]["code"], "E_RPC_FORBIDDEN",
                "{refused}"
            );
        }
    }
    let listed = ask("approvals/list", &json!({"token": token}))["result"].take();
    let id = listed["approvals"][0]["id"].clone();
    assert_eq!(
        listed["approvals"][0]["what"]["files"][0]["path"], "a.txt",
        "{listed}"
    );
    assert_eq!(
        fs::read_to_string(terminal.path("D/a.txt")).unwrap(),
        "one\ntwo\n"
    );
    // Over MCP, an agent learns the id, which lets it decide nothing.
    for token in ["", handle, id.as_str().unwrap()] {
        for method in ["approvals/get", "approvals/approve", "approvals/deny"] {
            let refused = ask(method, &json!({"token": token, "id": id}));
            assert_eq!(
                refused["error"]["data"]["code"], "E_RPC_FORBIDDEN",
                "{refused}"
            );
        }
    }
    // Twenty decisions at once.
    let mut counts = Vec::new();
    for number in 0..20 {
        let word = if number % 2 == 0 { "approve" } else { "deny" };
        let params = json!({"token": token, "id": id, "why": word});
        client.send(number, &format!("approvals/{word}"), &params);
    }
    for _ in 0..20 {
        let mut answer = client.answer();
        if answer["result"].is_object() {
            counts.push(answer["result"]["approval"]["decision"].take());
        } else {
            let error = &answer["error"];
            assert_eq!(error["data"]["code"], "E_RPC_DECIDED", "{answer}");
            assert!(
                error["message"]
                    .as_str()
                    .unwrap()
                    .contains(" already, by ann at ")
            );
        }
    }
    assert_eq!(counts.len(), 1, "{counts:?}");
    assert_eq!(counts[0]["by"], "ann");
    let is_approved = counts[0]["why"] == "approve";
    let mut ask = |method: &str, params: &Value| {
        client.send(1, method, params);
        client.answer()
    };
    let poll = json!({"handle": handle, "instance": {"agent": "coder"}});
    let begun = Instant::now();
    while ask("call/poll", &poll)["result"]["status"] == "pending" {
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
    let text = fs::read_to_string(terminal.path("D/a.txt")).unwrap();
    assert_eq!(text, if is_approved { "new\n" } else { "one\ntwo\n" });
    drop(client);
    child.wait().unwrap();
}

#[test]
fn a_call_tells_the_webhook_of_its_policy_before_the_command_ends() {
    let terminal = terminal();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let policy = json!({
        "tools": {"file-system": {"ask": "effects"}},
        "approvals": {"webhook": {"url": url, "secret": {"fromFile": "hook.txt"}}},
    });
    terminal.write("policy.yaml", policy.to_string());
    let secret = terminal.write("hook.txt", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n");
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    let told = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut piece = [0; 4096];
        while !request.ends_with(b"}}") {
            let read = stream.read(&mut piece).unwrap();
            request.extend_from_slice(&piece[..read]);
        }
        let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
        stream.write_all(answer).unwrap();
        String::from_utf8(request).unwrap()
    });
    run(&terminal, "call", &WRITE).exits(0);
    let told = told.join().unwrap();
    let (head, body) = told.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("webhook-signature: v1,"), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["type"], "approval.waiting");
    assert_eq!(body["data"]["tool"], "file-system__write");
    assert!(body["data"]["url"].is_null(), "no page is known: {body}");
    assert!(!told.contains("a.txt"), "{told}");
}

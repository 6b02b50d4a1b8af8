//! `toolhost serve`, as a client starts it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::terminal::{Terminal, examples, root, with_stdin};

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments}})
}

fn lines(messages: &[Value]) -> String {
    messages
        .iter()
        .map(|message| format!("{message}\n"))
        .collect()
}

/// Serves a client that sends these messages and ends. Returns what stdout has.
fn answers(command: &mut Command, messages: &str) -> Vec<Value> {
    let ran = with_stdin(command, messages.as_bytes()).exits(0);
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("stdout has messages only"))
        .collect()
}

fn result(answers: &[Value], id: u64) -> &Value {
    let found = answers.iter().find(|answer| answer["id"] == id);
    &found.unwrap_or_else(|| panic!("no answer to {id}: {answers:?}"))["result"]
}

#[test]
fn a_client_on_stdin_gets_its_answers_and_the_server_ends_with_stdin() {
    let terminal = Terminal::new();
    let mut command = terminal.toolhost(["serve", "--instance", "ends-with-stdin"]);
    command
        .arg(examples())
        .arg("--workdir")
        .arg(terminal.path("D"));
    let messages = lines(&[
        initialize(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        call(
            3,
            "file-system__write",
            &json!({"path": "a.txt", "content": "made"}),
        ),
        call(4, "text__upper", &json!({"text": 7})),
    ]);
    let answers = answers(&mut command, &messages);
    let answer = |id: u64| result(&answers, id);
    assert_eq!(answer(1)["serverInfo"]["name"], "toolhost");
    let listed = answer(2)["tools"].as_array().expect("a list");
    assert!(listed.iter().any(|tool| tool["name"] == "text__upper"));
    assert_eq!(answer(3)["structuredContent"]["written"], true);
    assert_eq!(answer(4)["isError"], true);
    let written = fs::read_to_string(terminal.path("D/a.txt")).expect("the tool wrote it");
    assert_eq!(written, "made");
    let events = Terminal::take_events("ends-with-stdin");
    for whole in ["turn", "step", "tool"] {
        let is_whole = |(kind, _): &&(String, String)| kind.starts_with(whole);
        assert_eq!(events.iter().filter(is_whole).count(), 4, "{events:?}");
    }
}

#[test]
fn what_is_not_mcp_ends_the_server_with_an_error() {
    let terminal = Terminal::new();
    let mut command = terminal.toolhost(["serve"]);
    command
        .arg(examples())
        .arg("--workdir")
        .arg(terminal.path("D"));
    let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized",
        "params": {"_meta": {"x": "CONTENT"}}});
    let ran = with_stdin(&mut command, lines(&[message]).as_bytes());
    let failed = ran.fails(2, "did not initialize");
    assert!(failed.stderr.contains("must speak MCP"));
    assert!(
        !failed.stderr.contains("CONTENT"),
        "what clients send is not printed"
    );
}

/// A server over HTTP that is killed if the test fails.
struct Http {
    child: Child,
    address: String,
    notes: String,
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Http {
    fn start(terminal: &Terminal, args: &[&str]) -> Self {
        let mut command = terminal.toolhost(["serve"]);
        command.arg(examples()).args(args);
        command.arg("--workdir").arg(terminal.path("D"));
        command.stderr(Stdio::piped());
        let mut http = Self {
            child: command.spawn().expect("it starts"),
            address: String::new(),
            notes: String::new(),
        };
        let stderr = http.child.stderr.take().expect("it is a pipe");
        let mut stderr = BufReader::new(stderr);
        loop {
            let mut line = String::new();
            let read = stderr.read_line(&mut line).expect("stderr is text");
            assert!(read > 0, "it ended: {}", http.notes);
            http.notes.push_str(&line);
            if let Some((_, url)) = line.split_once("listening on http://") {
                url.trim()
                    .trim_end_matches("/mcp")
                    .clone_into(&mut http.address);
                // The pipe stays open.
                std::thread::spawn(move || {
                    let mut rest = String::new();
                    let _ = stderr.read_to_string(&mut rest);
                });
                return http;
            }
        }
    }

    fn request(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    fn get(&self, path: &str, header: &str) -> String {
        let host = &self.address;
        self.request(&format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\n{header}Connection: close\r\n\r\n"
        ))
    }

    fn post(&self, message: &Value, header: &str) -> String {
        let (host, body) = (&self.address, message.to_string());
        let length = body.len();
        self.request(&format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\n{header}Content-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        ))
    }

    /// Sends SIGTERM, and returns the exit code.
    fn terminate(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(30) {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it did not end");
    }
}

#[test]
fn over_http_health_metrics_and_calls_are_served_until_sigterm() {
    let terminal = Terminal::new();
    let options = ["--http", "127.0.0.1:0", "--instance", "until-sigterm"];
    let http = Http::start(&terminal, &options);
    assert!(http.get("/healthz", "").starts_with("HTTP/1.1 200"));
    let answer = http.post(&initialize(), "");
    assert!(answer.contains("mcp-session-id"), "{answer}");
    assert!(
        http.post(&initialize(), "Origin: https://evil.example\r\n")
            .starts_with("HTTP/1.1 403")
    );
    let metrics = http.get("/metrics", "");
    assert!(metrics.contains("toolhost_sessions 1"), "{metrics}");
    assert!(
        metrics.contains("toolhost_http_refused_total{status=\"403\"} 1"),
        "{metrics}"
    );
    let session = answer
        .lines()
        .find_map(|line| line.strip_prefix("mcp-session-id: "));
    let header = format!("mcp-session-id: {}\r\n", session.expect("a header").trim());
    let answer = http.post(&call(2, "text__upper", &json!({"text": "a"})), &header);
    assert!(answer.contains("\"A\""), "{answer}");
    assert_eq!(http.terminate(), Some(0));
    let events = Terminal::take_events("until-sigterm");
    assert_eq!(events.len(), 6, "{events:?}");
}

#[test]
fn a_token_is_generated_for_an_address_that_other_machines_reach() {
    let terminal = Terminal::new();
    let http = Http::start(&terminal, &["--http", "0.0.0.0:0"]);
    let token = http
        .notes
        .split_once("token of clients is ")
        .expect("it is printed")
        .1;
    let token = token.lines().next().expect("a line").to_owned();
    assert!(token.len() >= 40, "{token}");
    let mut http = http;
    http.address = http.address.replace("0.0.0.0", "127.0.0.1");
    assert!(http.post(&initialize(), "").starts_with("HTTP/1.1 401"));
    let header = format!("Authorization: Bearer {token}\r\n");
    assert!(
        http.post(&initialize(), &header)
            .starts_with("HTTP/1.1 200")
    );
    assert!(http.get("/metrics", "").starts_with("HTTP/1.1 401"));
    assert!(http.get("/healthz", "").starts_with("HTTP/1.1 200"));
}

#[test]
fn a_file_of_tokens_must_be_private_and_whole() {
    let terminal = Terminal::new();
    let run = |content: &str, mode: u32| {
        let path = terminal.write("tokens.txt", content);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
        let mut command = terminal.toolhost(["serve"]);
        command
            .arg(examples())
            .arg("--workdir")
            .arg(terminal.path("D"));
        command.args(["--http", "127.0.0.1:0", "--tokens"]);
        crate::terminal::Ran::of(command.arg(path))
    };
    let secret = "5d0c4f2b8f3e4c1a9d7e6b5a4c3d2e1f";
    run(&format!("alice {secret}\n"), 0o644).fails(2, "can be read or changed by others");
    run("alice short\n", 0o600).fails(2, "fewer than 16 characters");
    run("alice\n", 0o600).fails(2, "each line is `INSTANCE TOKEN`");
    run(&format!("alice {secret}\nbob {secret}\n"), 0o600).fails(2, "have a token twice");
    run("# none\n\n", 0o600).fails(2, "are empty");
    let ran = run(&format!("alice {secret} more\n"), 0o600).fails(2, "each line is");
    assert!(!ran.stderr.contains(secret), "{ran:?}");
    // An agent with the token of an approver could approve its own calls.
    let line = format!("alice {secret}\n");
    let [tokens, approvers] = ["tokens", "approvers"].map(|name| {
        let path = terminal.write(name, &line);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
        path
    });
    let mut command =
        terminal.toolhost(["serve", "--http", "127.0.0.1:0", "--watch-page=127.0.0.1:0"]);
    command
        .arg(examples())
        .arg("--workdir")
        .arg(terminal.path("D"));
    command
        .arg("--tokens")
        .arg(tokens)
        .arg("--approvers")
        .arg(approvers);
    crate::terminal::Ran::of(&mut command).fails(2, "its agent could approve its own calls");
}

#[test]
fn the_configuration_of_each_client_starts_the_server_from_any_directory() {
    let terminal = Terminal::new();
    let printed = |client: &str, more: &[&str]| {
        let mut command = terminal.toolhost(["serve"]);
        command
            .arg(examples())
            .args(["--workdir", "a dir", "--print-config", client]);
        crate::terminal::Ran::of(command.args(more)).exits(0)
    };
    let workdir = terminal.path("here/a dir");
    let workdir = workdir.to_str().expect("it is UTF-8");
    for (client, servers) in [("cursor", "mcpServers"), ("vscode", "servers")] {
        let server = printed(client, &[]).json()[servers]["toolhost"].clone();
        let args = server["args"].as_array().expect("arguments");
        assert_eq!(args[0], "serve");
        assert!(args.iter().any(|arg| arg == workdir), "{server}");
        let url =
            printed(client, &["--http", "127.0.0.1:8484"]).json()[servers]["toolhost"].clone();
        assert_eq!(url["url"], "http://127.0.0.1:8484/mcp");
    }
    let quoted = format!("--workdir '{workdir}'");
    for client in ["claude-code", "inspector"] {
        let command = printed(client, &[]).stdout;
        assert!(command.contains(&quoted), "{command}");
        assert_eq!(command.lines().count(), 1, "{command}");
    }
}

/// Runs `toolhost serve --print-config`.
fn print_config(terminal: &Terminal, client: &str, options: &[&str]) -> crate::terminal::Ran {
    let mut command = terminal.toolhost(["serve"]);
    command.arg(examples()).args(["--print-config", client]);
    crate::terminal::Ran::of(command.args(options))
}

#[test]
fn the_configuration_for_http_names_a_host_that_clients_can_reach() {
    let terminal = Terminal::new();
    for (options, url) in [
        (
            &["--http", "127.0.0.1:8484"][..],
            "http://127.0.0.1:8484/mcp",
        ),
        (&["--http", "192.0.2.7:80"], "http://192.0.2.7:80/mcp"),
        (&["--http", "0.0.0.0:8484"], "http://127.0.0.1:8484/mcp"),
        (&["--http", "[::]:8484"], "http://[::1]:8484/mcp"),
        (
            &["--http", "0.0.0.0:8484", "--allow-host", "tools.example"],
            "http://tools.example:8484/mcp",
        ),
        (
            &[
                "--http",
                "127.0.0.1:8484",
                "--allow-host",
                "tools.example:80",
            ],
            "http://tools.example:80/mcp",
        ),
    ] {
        let config = print_config(&terminal, "cursor", options).exits(0).json();
        assert_eq!(config["mcpServers"]["toolhost"]["url"], url, "{options:?}");
    }
    let ran = print_config(&terminal, "inspector", &["--http", "0.0.0.0:8484"]).exits(0);
    assert!(ran.stderr.contains("--allow-host"), "{ran:?}");
    print_config(&terminal, "cursor", &["--http", "127.0.0.1:0"]).fails(2, "Name a port");
}

#[test]
fn the_configuration_for_http_passes_a_token_where_the_server_needs_one() {
    let terminal = Terminal::new();
    let print = |client: &str, options: &[&str]| print_config(&terminal, client, options).exits(0);
    let remote = ["--http", "192.0.2.7:8484"];
    let with_file = ["--http", "127.0.0.1:8484", "--tokens", "tokens.txt"];
    for (options, note) in [
        (&remote[..], "another one at each start"),
        (&with_file, "tokens.txt"),
    ] {
        for client in ["claude-code", "inspector"] {
            let ran = print(client, options);
            let header = " --header \"Authorization: Bearer $TOOLHOST_TOKEN\"\n";
            assert!(ran.stdout.ends_with(header), "{ran:?}");
            assert!(
                ran.stderr.contains("TOOLHOST_TOKEN") && ran.stderr.contains(note),
                "{ran:?}"
            );
        }
        let cursor = print("cursor", options).json();
        let headers = &cursor["mcpServers"]["toolhost"]["headers"];
        assert_eq!(headers["Authorization"], "Bearer ${env:TOOLHOST_TOKEN}");
        let vscode = print("vscode", options).json();
        let headers = &vscode["servers"]["toolhost"]["headers"];
        assert_eq!(headers["Authorization"], "Bearer ${input:toolhost-token}");
        assert_eq!(vscode["servers"]["toolhost"]["type"], "http");
        assert_eq!(vscode["inputs"][0]["id"], "toolhost-token");
        assert_eq!(vscode["inputs"][0]["password"], true);
    }
    let oauth = [
        "--oauth-issuer",
        "https://id.example",
        "--oauth-resource",
        "https://tools.example/mcp",
    ];
    for client in ["claude-code", "inspector", "cursor", "vscode"] {
        let open = print(client, &["--http", "127.0.0.1:8484"]);
        let signed_in = print(client, &[&["--http", "0.0.0.0:8484"], &oauth[..]].concat());
        assert!(
            signed_in.stdout.contains("https://tools.example/mcp"),
            "{signed_in:?}"
        );
        assert!(
            signed_in.stderr.contains("https://id.example"),
            "{signed_in:?}"
        );
        for ran in [open, signed_in] {
            let has_token = ran.stdout.contains("Authorization") || ran.stdout.contains("inputs");
            assert!(!has_token, "{ran:?}");
        }
    }
}

#[test]
fn the_snippets_of_each_clients_page_are_what_is_printed() {
    let terminal = Terminal::new();
    let http = ["--http", "192.0.2.7:8484"];
    for client in ["claude-code", "cursor", "vscode", "inspector"] {
        let page = root(&format!("docs/mcp/{client}.md"));
        let page = fs::read_to_string(page).expect("the page");
        for options in [&["--workdir", "/home/me/project"], &http] {
            let mut command = terminal.toolhost(["serve", "/home/me/my-bundle"]);
            let program = command.get_program().to_str().expect("UTF-8").to_owned();
            command.args(["--print-config", client]).args(options);
            command.env_remove("XDG_STATE_HOME");
            let printed = crate::terminal::Ran::of(&mut command).exits(0).stdout;
            let printed = printed.replace(&program, "/usr/local/bin/toolhost");
            let is_there = match serde_json::from_str::<Value>(&printed) {
                Ok(json) => page.lines().any(|line| {
                    serde_json::from_str::<Value>(line).is_ok_and(|snippet| snippet == json)
                }),
                Err(_) => page.lines().any(|line| line == printed.trim()),
            };
            assert!(is_there, "{printed}");
        }
    }
}

#[test]
fn tokens_of_other_instances_are_refused_where_a_workdir_serves_one() {
    let terminal = Terminal::new();
    let secret = "5d0c4f2b8f3e4c1a9d7e6b5a4c3d2e1f";
    let path = terminal.write(
        "tokens.txt",
        format!("* a{secret}\nalice b{secret}\nbob {secret}\n"),
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let mut command = terminal.toolhost(["serve"]);
    command
        .arg(examples())
        .arg("--workdir")
        .arg(terminal.path("D"));
    command.args(["--instance", "alice", "--http", "127.0.0.1:0", "--tokens"]);
    let ran = crate::terminal::Ran::of(command.arg(path));
    let ran = ran.fails(
        2,
        "name the instance 'bob', but with --workdir only 'alice' is served",
    );
    assert!(!ran.stderr.contains(secret), "{ran:?}");
}

#[test]
fn tokens_are_read_again_and_a_broken_file_leaves_those_from_before() {
    let terminal = Terminal::new();
    let (ann, bob) = ("ann-has-a-long-token", "bob-has-a-long-token");
    let write = |content: &str| {
        let new = terminal.write("tokens.new", content);
        fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).expect("it is ours");
        fs::rename(new, terminal.path("tokens.txt")).expect("it is renamed");
    };
    write(&format!("* {ann}\n"));
    let tokens = terminal.path("tokens.txt");
    let tokens = tokens.to_str().expect("a path");
    let http = Http::start(&terminal, &["--http", "127.0.0.1:0", "--tokens", tokens]);
    let status = |token: &str| {
        let header = format!("Authorization: Bearer {token}\r\n");
        let answer = http.get("/metrics", &header);
        answer.split(' ').nth(1).expect("a status").to_owned()
    };
    let becomes = |token: &str, expected: &str| {
        let started = Instant::now();
        while status(token) != expected {
            assert!(started.elapsed() < Duration::from_secs(20), "{token}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    assert_eq!((status(ann), status(bob)), ("200".into(), "401".into()));
    write(&format!("* {bob}\n"));
    becomes(bob, "200");
    assert_eq!(status(ann), "401", "it was revoked");
    write("* short\n");
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!((status(ann), status(bob)), ("401".into(), "200".into()));
    write(&format!("* {ann}\n* {bob}\n"));
    becomes(ann, "200");
    assert_eq!(status(bob), "200");
}

//! The page of `toolhost watch`, in a browser.

use std::env;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::{Map, Value, json};

use crate::docs_page::browser_tools;
use crate::rpc::Client;
use crate::terminal::{Ran, Terminal, guest, root};

/// The tools that are called. The first one's changes of files wait for approval.
const TOOLS: [(&str, &str, &str); 6] = [
    ("file-system", "write", "Writes a text file"),
    ("file-system", "read", "Reads a text file"),
    ("text", "upper", "Turns text into upper case"),
    ("call_tools", "run", "Calls other tools"),
    ("fetch", "run", "Sends HTTP requests"),
    ("echo", "say", "Says it again"),
];

const POLICY: &str = "
tools:
  file-system:
    ask: {allow: [{export: read}], default: effects}
    budgets: {perHour: {calls: 100}}
  call_tools: {tools: [text__upper, file-system__read]}
  fetch: {ask: effects, http: {allow: ['POST http://127.0.0.1:9/*']}}
  echo: {ask: always}
";

const ALICE: &str = "a11ce00000000000000000000000000000000000";
const BOB: &str = "b0b0000000000000000000000000000000000000";

/// Writes a bundle, a policy, the tokens of two viewers and a workdir.
fn terminal() -> Terminal {
    let terminal = crate::calls::terminal();
    let parameters = |export: &str| match export {
        "upper" => json!({"type": "object", "required": ["text"], "properties": {
            "text": {"type": "string", "description": "What to turn into upper case"}}}),
        "read" => json!({"type": "object", "required": ["path"], "properties": {
            "path": {"type": "string", "description": "Path relative to the workdir"},
            "maxBytes": {"type": "integer", "minimum": 1}}}),
        _ => json!({"type": "object"}),
    };
    let mut names: Vec<&str> = TOOLS.iter().map(|tool| tool.0).collect();
    names.dedup();
    let documents = names.iter().map(|name| {
        let component = fs::read(guest(name)).expect("it is read");
        terminal.write(&format!("b/{name}.wasm"), component);
        let exports = TOOLS.iter().filter(|tool| tool.0 == *name);
        let exports = exports.map(|(_, export, description)| {
            json!({"name": export, "description": description, "parameters": parameters(export)})
        });
        let tool = json!({"apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": name},
            "spec": {"entry": format!("./{name}.wasm"), "exports": exports.collect::<Vec<_>>()}});
        tool.to_string()
    });
    let documents: Vec<String> = documents.collect();
    terminal.write("b/goondan.yaml", documents.join("\n---\n"));
    terminal.write("policy.yaml", POLICY);
    let viewers = terminal.write("viewers", format!("alice {ALICE}\nbob {BOB}\n"));
    fs::set_permissions(viewers, Permissions::from_mode(0o600)).expect("it is ours");
    terminal.write("D/a.txt", "one\ntwo\n");
    terminal
}

/// Makes calls of each kind. Returns the handles of those that wait, by the file that they change.
fn call_tools(terminal: &Terminal) -> Map<String, Value> {
    let mut command = terminal.toolhost(["rpc", "../b", "--quiet", "--policy", "../policy.yaml"]);
    command.args(["--state-root", "../state", "--workdir", "../D"]);
    command.args(["--instance", "ann", "--record", "failed"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let (stdout, stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let mut client = Client::new(stdout, stdin);
    let mut number = 0;
    let mut call = |tool: &str, args: Value| {
        number += 1;
        let call = json!({"id": format!("call_{number}"), "name": tool, "args": args});
        client.send(number, "call/execute", &json!({ "call": call }));
        client.answer()["result"].take()
    };
    call("text__upper", json!({"text": "hello"}));
    call(
        "text__upper",
        json!({"text": "<img src=x onerror=alert(1)> \u{202e}"}),
    );
    call("file-system__read", json!({"path": "nowhere.txt"}));
    let steps = json!([
        {"do": "call", "tool": "text__upper", "args": {"text": "inner"}},
        {"do": "call", "tool": "file-system__read", "args": {"path": "a.txt"}},
        {"do": "call", "tool": "file-system__read", "args": {"path": "missing.txt"}},
    ]);
    call("call_tools__run", json!({ "steps": steps }));
    let fails = json!([
        {"do": "call", "tool": "file-system__read", "args": {"path": "a.txt"}},
        {"do": "read", "path": "a.txt"},
        {"do": "fail"},
    ]);
    call("call_tools__run", json!({ "steps": fails }));
    call(
        "fetch__run",
        json!({"url": "https://api.example.com/v1/things"}),
    );
    let request = json!({"url": "http://127.0.0.1:9/v1/things?all=1", "method": "POST",
        "headers": {"x-colour": "red"}, "body": "<b>body</b>"});
    call("fetch__run", request);
    call(
        "echo__say",
        json!({"n": 12_345_678_901_234_567_890_u64, "text": "<i>"}),
    );
    let waiting = [
        ("a.txt", "one\nthree \u{1b}[31m\n"),
        ("b.txt", "b"),
        ("c.txt", "c"),
        ("d.txt", "d"),
    ];
    let handles = waiting.map(|(path, content)| {
        let held = call(
            "file-system__write",
            json!({"path": path, "content": content}),
        );
        (path.to_owned(), held["handle"].clone())
    });
    drop(client);
    assert!(child.wait().expect("it ends").success());
    handles.into_iter().collect()
}

/// A server that is ended with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Starts `toolhost watch`. Returns the address that it prints.
fn watch(terminal: &Terminal, options: &[&str]) -> (Server, String) {
    let mut command = terminal.toolhost(["watch", "--listen", "127.0.0.1:0", "--quiet"]);
    command.args(["--state-root", "../state", "--approvers", "../viewers"]);
    let command = command.args(options).stdout(Stdio::piped());
    let mut server = Server(command.spawn().expect("it starts"));
    let stdout = server.0.stdout.take().expect("it is piped");
    let mut line = String::new();
    BufReader::new(stdout)
        .read_line(&mut line)
        .expect("it is read");
    (server, line.trim_end().to_owned())
}

/// Serves an empty page of another origin to each connection.
fn other_origin() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            BufReader::new(&stream).read_line(&mut String::new()).ok();
            let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 16\r\nconnection: close\r\n\r\n<title>x</title>";
            stream.write_all(page.as_bytes()).ok();
        }
    });
    format!("http://{address}/")
}

#[expect(
    clippy::disallowed_methods,
    reason = "who makes the documentation anew says so in the environment"
)]
#[test]
fn a_browser_shows_each_view_decides_what_is_confirmed_and_runs_nothing_of_strangers() {
    let Some(tools) = browser_tools() else {
        return;
    };
    let terminal = terminal();
    let handles = call_tools(&terminal);
    let (_server, page) = watch(
        &terminal,
        &["--bundle", "../b", "--policy", "../policy.yaml"],
    );
    let (_bare_server, bare) = watch(&terminal, &["../state", "../D"]);
    let pictures = env::var_os("UPDATE_DOCS").map(|_| root("docs/watch"));
    let facts = json!({"page": page, "bare": bare, "alice": ALICE, "bob": BOB, "other": other_origin(),
        "pictures": pictures});
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/npm/watch.mjs");
    let mut node = Command::new(tools.join("node"));
    node.arg(script)
        .arg(facts.to_string())
        .env("TOOLHOST_NPM_TOOLS", tools);
    let results = Ran::of(&mut node).exits(0).json();
    let results = results.as_object().expect("a result of each check");
    let failed: Vec<_> = results
        .iter()
        .filter(|(_, error)| !error.is_null())
        .map(|(check, error)| format!("{check}: {}", error.as_str().unwrap_or_default()))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    assert!(results.len() > 15, "{results:?}");

    // What was approved in the browser is done, and nothing else.
    let read = |path: &str| fs::read_to_string(terminal.path("D").join(path)).ok();
    let poll = |path: &str| {
        let mut poll = terminal.toolhost(["poll", "../b", handles[path].as_str().unwrap()]);
        poll.args(["--policy", "../policy.yaml", "--state-root", "../state"]);
        Ran::of(poll.args(["--workdir", "../D", "--instance", "ann"]))
    };
    poll("a.txt").exits(0);
    assert_eq!(read("a.txt").unwrap(), "one\nthree \u{1b}[31m\n");
    for (path, why) in [("b.txt", "use <b>a.txt</b>"), ("c.txt", "no")] {
        let denied = poll(path).exits(1).json();
        let message = denied["error"]["message"].as_str().unwrap();
        assert!(
            message.ends_with(&format!("was not approved: {why}")),
            "{message}"
        );
    }
    for path in ["b.txt", "c.txt", "d.txt"] {
        assert_eq!(read(path), None, "{path}");
    }
}

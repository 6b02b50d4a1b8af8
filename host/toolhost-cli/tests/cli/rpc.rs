//! `toolhost rpc`: the server over stdio and over a socket.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::terminal::{Ran, Terminal, examples, with_stdin};

/// How long the server may take to listen, or to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// A client that writes and reads lines.
pub(crate) struct Client<R, W> {
    reader: BufReader<R>,
    writer: W,
}

impl<R: Read, W: Write> Client<R, W> {
    pub(crate) fn new(reader: R, writer: W) -> Self {
        Self {
            reader: BufReader::new(reader),
            writer,
        }
    }

    pub(crate) fn send(&mut self, id: u32, method: &str, params: &Value) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.writer, "{request}").unwrap();
    }

    /// The next line; none at the end.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        (!line.is_empty()).then_some(line)
    }

    pub(crate) fn answer(&mut self) -> Value {
        serde_json::from_str(&self.line().expect("the server answers")).unwrap()
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.send(1, method, params);
        self.answer()["result"].take()
    }
}

pub(crate) fn call(name: &str, args: &Value) -> Value {
    json!({"call": {"id": "call_1", "name": name, "args": args}})
}

/// A call that writes to `/f`, a byte at a time, until it is stopped.
fn endless_call() -> Value {
    let args = json!({"path": "/f", "bytes": 1_000_000_000, "chunk": 1, "mode": "append"});
    call("write_bytes__run", &args)
}

/// Waits until a condition holds.
fn eventually(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "timed out: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until the endless call writes.
fn until_it_writes(terminal: &Terminal) {
    let file = terminal.path("D/f");
    eventually("the guest writes", || {
        fs::metadata(&file).is_ok_and(|found| found.len() > 100)
    });
}

fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    let sent = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(sent.success());
}

/// The exit code of a server that ends by itself.
fn exit_code(mut child: Child) -> Option<i32> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("the server does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The instance of the server over stdio.
const OVER_STDIO: &str = "rpc-over-stdio";

/// Starts a server over stdio with the workdir `D`.
fn over_stdio(
    terminal: &Terminal,
    bundle: &Path,
) -> (
    Child,
    Client<std::process::ChildStdout, std::process::ChildStdin>,
) {
    let mut command = terminal.toolhost(["rpc", "--quiet", "--workdir", "../D"]);
    command.args(["--instance", OVER_STDIO]);
    command.arg(bundle).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let (stdout, stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    (child, Client::new(stdout, stdin))
}

/// Starts a server on the socket `rpc.sock`, and waits until it listens.
fn on_a_socket(terminal: &Terminal, bundle: &Path) -> Child {
    let mut command = terminal.toolhost(["rpc", "--workdir", "../D", "--socket", "../rpc.sock"]);
    let child = command.arg(bundle).stderr(Stdio::null()).spawn().unwrap();
    let path = terminal.path("rpc.sock");
    eventually("the server listens", || UnixStream::connect(&path).is_ok());
    child
}

fn connect(terminal: &Terminal) -> Client<UnixStream, UnixStream> {
    let stream = UnixStream::connect(terminal.path("rpc.sock")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    Client::new(stream.try_clone().unwrap(), stream)
}

fn writer(terminal: &Terminal) -> std::path::PathBuf {
    terminal.bundle("bundle", &[("write_bytes", &["run"]), ("text", &["upper"])])
}

#[test]
fn stdout_carries_only_messages_and_the_end_of_stdin_stops_what_runs() {
    let terminal = Terminal::new();
    let (child, mut client) = over_stdio(&terminal, &writer(&terminal));
    client.send(1, "call/execute", &endless_call());
    until_it_writes(&terminal);
    drop(client.writer);
    let mut rest = String::new();
    client.reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert_eq!(exit_code(child), Some(0));
    // What was stopped has ended in the log, too.
    let events = Terminal::take_events(OVER_STDIO);
    for end in ["tool.failed", "step.failed", "turn.failed"] {
        assert!(events.iter().any(|(kind, _)| kind == end), "{events:?}");
    }

    let mut command = terminal.toolhost(["rpc", "-v", "--workdir", "../D"]);
    let context = json!({"jsonrpc": "2.0", "id": 1, "method": "host/info"});
    let ran = with_stdin(
        command.arg(examples()),
        format!("{context}\nno json\n").as_bytes(),
    );
    for line in ran.stdout.lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0");
    }
}

#[test]
fn a_signal_drains_the_server_and_a_second_one_stops_it() {
    let terminal = Terminal::new();
    let bundle = terminal.bundle("bundle", &[("sleep_forever", &["run"])]);
    let server = on_a_socket(&terminal, &bundle);
    let mode = fs::symlink_metadata(terminal.path("rpc.sock"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut client = connect(&terminal);
    let sleep = |seconds: f64| call("sleep_forever__run", &json!({"seconds": seconds}));
    client.send(7, "call/execute", &sleep(1.0));
    assert_eq!(client.request("host/info", &json!({}))["name"], "toolhost");
    signal(&server, "TERM");
    eventually("the socket is removed", || {
        !terminal.path("rpc.sock").exists()
    });
    client.send(8, "host/info", &json!({}));
    assert_eq!(client.answer()["error"]["data"]["code"], "E_RPC_SHUTDOWN");
    let answer = client.answer();
    assert_eq!(
        (&answer["id"], &answer["result"]["status"]),
        (&json!(7), &json!("ok"))
    );
    assert_eq!(client.line(), None);
    assert_eq!(exit_code(server), Some(0));

    let server = on_a_socket(&terminal, &bundle);
    let mut client = connect(&terminal);
    client.send(7, "call/execute", &sleep(1e6));
    client.request("host/info", &json!({}));
    signal(&server, "INT");
    eventually("the socket is removed", || {
        !terminal.path("rpc.sock").exists()
    });
    signal(&server, "INT");
    assert_eq!(exit_code(server), Some(130));
    assert_eq!(client.line(), None);
}

#[test]
fn a_client_of_a_socket_that_vanishes_takes_its_calls_with_it() {
    let terminal = Terminal::new();
    let server = on_a_socket(&terminal, &writer(&terminal));
    let mut client = connect(&terminal);
    client.send(1, "call/execute", &endless_call());
    until_it_writes(&terminal);
    drop(client);
    let size = || fs::metadata(terminal.path("D/f")).unwrap().len();
    eventually("the guest stops", || {
        let before = size();
        std::thread::sleep(Duration::from_millis(100));
        size() == before
    });
    let mut other = connect(&terminal);
    let result = other.request("call/execute", &call("text__upper", &json!({"text": "a"})));
    assert_eq!(result["output"], json!({"text": "A"}));
    signal(&server, "TERM");
    assert_eq!(exit_code(server), Some(0));
}

#[test]
fn a_socket_that_a_killed_server_left_is_replaced_and_nothing_else() {
    let terminal = Terminal::new();
    let bundle = writer(&terminal);
    let mut killed = on_a_socket(&terminal, &bundle);
    let refused = |hint: &str| {
        let mut command =
            terminal.toolhost(["rpc", "--workdir", "../D", "--socket", "../rpc.sock"]);
        let ran = Ran::of(command.arg(&bundle)).fails(2, "rpc.sock");
        assert!(ran.stderr.contains(hint), "{ran:?}");
    };
    refused("another server listens on");
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(terminal.path("rpc.sock").exists());
    let server = on_a_socket(&terminal, &bundle);
    connect(&terminal).request("host/info", &json!({}));
    signal(&server, "TERM");
    assert_eq!(exit_code(server), Some(0));
    terminal.write("rpc.sock", "kept");
    refused("is not a socket of this user");
    assert_eq!(fs::read(terminal.path("rpc.sock")).unwrap(), b"kept");
}

#[test]
fn a_watched_bundle_is_served_as_it_is_now() {
    let terminal = Terminal::new();
    let bundle = terminal.bundle("bundle", &[("text", &["upper"])]);
    let mut command = terminal.toolhost(["rpc", "--quiet", "--watch", "--workdir", "../D"]);
    command.arg(&bundle).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let (stdout, stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let mut client = Client::new(stdout, stdin);
    let upper = call("text__upper", &json!({"text": "a"}));
    let turn = client.request("turn/open", &json!({}))["turn"].take();
    terminal.bundle("bundle", &[("text", &["count"])]);
    let started = Instant::now();
    let tools = |client: &mut Client<_, _>| {
        client.request("agents/list", &json!({}))["agents"][0]["tools"].take()
    };
    while tools(&mut client) != json!(["text__count"]) {
        assert!(started.elapsed() < PATIENCE, "the bundle is not reloaded");
        std::thread::sleep(Duration::from_millis(20));
    }
    let result = client.request("call/execute", &upper);
    assert_eq!(result["error"]["code"], "E_TOOL_NOT_IN_CATALOG");
    // The open turn goes on with what it began with.
    let step = client.request("step/open", &json!({"turn": turn}));
    assert_eq!(step["tools"][0]["name"], "text__upper");
    drop(client);
    assert_eq!(exit_code(child), Some(0));
}

#[test]
fn wrong_options_are_refused_before_anything_is_served() {
    let terminal = Terminal::new();
    let run = |words: &[&str]| Ran::of(&mut terminal.toolhost([&["rpc"], words].concat()));
    run(&["nowhere"]).fails(2, "the bundle nowhere cannot be read");
    run(&["--agent", "a"]).exits(2);
    run(&["--workdir", "nowhere"]).fails(2, "the workdir nowhere");
    let bundle = writer(&terminal);
    let bundle = bundle.to_str().unwrap();
    run(&[bundle, "--agent", "nobody"]).fails(2, "has no agent 'nobody'");
    run(&["--socket", "none/rpc.sock"]).fails(2, "none/rpc.sock cannot be created");
}

#[test]
fn clients_list_and_undo_the_calls_of_an_instance() {
    let terminal = Terminal::new();
    let bundle = writer(&terminal);
    terminal.write("policy.yaml", "defaults: {workdir: transactional}");
    let mut command = terminal.toolhost(["rpc", "--quiet", "--workdir", "../D"]);
    command.args(["--policy", "../policy.yaml", "--state-root", "../state"]);
    command.arg(bundle).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let (stdout, stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let mut client = Client::new(stdout, stdin);
    let mut undo = |method: &str, params: &Value| {
        client.send(1, method, params);
        client.answer()
    };
    let nothing = undo("undo/run", &json!({}));
    assert_eq!(nothing["error"]["code"], -32001, "{nothing}");
    assert_eq!(
        undo("undo/list", &json!({}))["result"],
        json!({"calls": []})
    );
    for bytes in [3, 5] {
        let mut params = call("write_bytes__run", &json!({"path": "/f", "bytes": bytes}));
        params["usage"] = true.into();
        let result = &undo("call/execute", &params)["result"];
        assert_eq!(result["changes"]["files"][0]["path"], "f", "{result}");
    }
    let size = || {
        fs::metadata(terminal.path("D/f"))
            .map(|found| found.len())
            .ok()
    };
    assert_eq!(size(), Some(5));
    let listed = undo("undo/list", &json!({"instance": {}}))["result"].take();
    let calls = listed["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2, "{listed}");
    assert_eq!(calls[0]["call"], "write_bytes__run call_1");
    let undone = undo("undo/run", &json!({"id": calls[0]["id"]}))["result"].take();
    assert_eq!(
        undone,
        json!({"undone": {"id": calls[0]["id"], "call": calls[0]["call"], "files": ["f"]}})
    );
    assert_eq!(size(), Some(3));
    terminal.write("D/f", "mine");
    let refused = undo("undo/run", &json!({}))["error"].take();
    assert_eq!(
        refused["data"]["code"], "E_TOOL_WORKDIR_CONFLICT",
        "{refused}"
    );
    assert!(
        refused["message"].as_str().unwrap().contains("`f`"),
        "{refused}"
    );
    assert_eq!(size(), Some(4));
    drop(client);
    assert_eq!(exit_code(child), Some(0));
}

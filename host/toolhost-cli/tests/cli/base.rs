//! `base`: the bundle that toolhost ships. Here it has guests of the tests; `cargo xtask dist` tests the real tools.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::front_ends::lines::Lines;
use crate::terminal::{Ran, Terminal};

/// A workdir on the file system of the state root, and a file with the bundle `base` behind it.
struct Setup {
    terminal: Terminal,
    archive: PathBuf,
    work: TempDir,
}

impl Setup {
    fn new() -> Self {
        let terminal = Terminal::new();
        let tools: [(&str, &[&str]); 2] = [("fs_probe", &["run"]), ("fetch", &["run"])];
        let bundle = terminal.bundle("shipped", &tools);
        let archive = terminal.write("archive", archive(&bundle, 1));
        let work = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self {
            terminal,
            archive,
            work,
        }
    }

    /// The binary with these arguments.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.terminal.toolhost(words);
        command.env("TOOLHOST_BASE", &self.archive);
        command
    }

    fn work(&self) -> &str {
        self.work.path().to_str().unwrap()
    }

    /// The names in the workdir.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.work.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&mut self.command(words))
    }

    /// Calls `fs_probe` in the workdir.
    fn probe(&self, args: &Value, options: &[&str]) -> Ran {
        let args = args.to_string();
        let call = [
            "call",
            "base",
            "fs_probe__run",
            "--workdir",
            self.work(),
            "--args",
            &args,
        ];
        Ran::of(self.command(&call).args(options))
    }
}

/// Writes the files of a bundle as `xtask/dist/base.py` does.
fn archive(bundle: &Path, digest: u8) -> Vec<u8> {
    let files = ["goondan.yaml", "fs_probe.wasm", "fetch.wasm"];
    let files = files.map(|name| (name, fs::read(bundle.join(name)).unwrap()));
    let index = files
        .iter()
        .map(|(path, bytes)| json!({"path": path, "bytes": bytes.len()}));
    let index = Value::from_iter(index).to_string();
    let mut archive = b"the program".to_vec();
    files.iter().for_each(|(_, bytes)| archive.extend(bytes));
    archive.extend(index.as_bytes());
    archive.extend((index.len() as u64).to_le_bytes());
    archive.extend([digest; 32]);
    archive.extend(b"toolhost-bundle\n");
    archive
}

/// The arguments of `fs_probe` that write the file `f`, and then run these steps.
fn write_and(steps: &[Value]) -> Value {
    let mut script = vec![
        json!({"op": "open-at", "path": "f", "open": ["create"], "flags": ["write"], "as": 1}),
        json!({"op": "write", "on": 1, "text": "x"}),
    ];
    script.extend_from_slice(steps);
    json!({"script": script})
}

#[test]
fn the_shipped_bundle_is_used_by_its_name() {
    let setup = Setup::new();
    let listed = setup.run(&["list", "base"]).exits(0);
    assert!(listed.stdout.contains("fs_probe__run"), "{listed:?}");
    let checked = setup.run(&["check", "base"]).exits(0);
    assert!(checked.stdout.contains("2 tools"), "{checked:?}");
    setup.probe(&write_and(&[]), &[]).exits(0);
    assert_eq!(setup.names(), ["f"]);
    setup
        .run(&["call", "base"])
        .fails(2, "the call names no tool: base is a bundle");

    setup
        .terminal
        .write("here/goondan.yaml", "include: [base]\n");
    let listed = setup.run(&["list"]).exits(0);
    assert!(listed.stdout.contains("fs_probe__run"), "{listed:?}");
    assert!(!listed.stderr.contains("ships"), "{listed:?}");
}

#[test]
fn an_mcp_client_calls_the_shipped_tools() {
    let setup = Setup::new();
    let mut lines = Lines::start(&mut setup.command(&["serve", "base", "--workdir", setup.work()]));
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    lines.request("initialize", &params);
    lines.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let params = json!({"name": "fs_probe__run", "arguments": write_and(&[])});
    let answer = lines.request("tools/call", &params);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(setup.names(), ["f"]);
}

#[test]
fn a_folder_of_that_name_is_meant_only_with_its_path() {
    let setup = Setup::new();
    setup.terminal.bundle("here/base", &[("echo", &["say"])]);
    let note = "note: 'base' is the bundle that toolhost ships; the folder of that name is ./base";
    for (bundle, tool, notes) in [
        ("base", "fs_probe__run", note),
        ("./base", "echo__say", ""),
        ("base/", "echo__say", ""),
        ("base/goondan.yaml", "echo__say", ""),
    ] {
        let listed = setup.run(&["list", bundle]).exits(0);
        assert!(listed.stdout.contains(tool), "{bundle}: {listed:?}");
        let in_default_agent = listed
            .stderr
            .lines()
            .filter(|line| !line.contains("declares no Agent"));
        assert_eq!(in_default_agent.collect::<String>(), notes, "{bundle}");
    }
}

#[test]
fn commands_that_change_a_bundle_refuse_the_shipped_one() {
    let setup = Setup::new();
    let reference = "localhost:1/a/b:1";
    for words in [
        &["build", "base"][..],
        &["lock", "base"],
        &["update", "base"],
        &["vendor", "base"],
        &["add", reference, "base"],
    ] {
        let ran = setup
            .run(words)
            .fails(2, "changes no bundle that toolhost ships");
        assert!(ran.stderr.contains("include: [base]"), "{ran:?}");
    }
}

#[test]
fn a_program_without_the_bundle_says_what_to_do_next() {
    let terminal = Terminal::new();
    terminal.write("here/goondan.yaml", "include: [base]\n");
    let run = |words: &[&str]| terminal.run(words);
    let ran = run(&["list", "base"]).fails(2, "this program was built without the base tools");
    assert!(
        ran.stderr.contains("hint: Install a package of a release"),
        "{ran:?}"
    );
    let ran = run(&["check"]).exits(1);
    assert!(
        ran.stderr.contains("built without the base tools"),
        "{ran:?}"
    );
}

#[test]
fn calls_of_the_shipped_tools_are_transactions_unless_a_policy_is_named() {
    let setup = Setup::new();
    let failing = write_and(&[json!({"op": "no such step"})]);
    setup.probe(&failing, &[]).exits(1);
    assert_eq!(setup.names(), Vec::<String>::new());
    setup.probe(&write_and(&[]), &[]).exits(0);
    setup.run(&["undo", "--workdir", setup.work()]).exits(0);
    assert_eq!(setup.names(), Vec::<String>::new());

    let policy = setup.terminal.write("policy.yaml", "{}");
    setup
        .probe(&failing, &["--policy", policy.to_str().unwrap()])
        .exits(1);
    assert_eq!(setup.names(), ["f"]);
}

#[test]
fn where_changes_cannot_be_staged_they_take_effect_at_once_and_a_note_says_so() {
    let setup = Setup::new();
    let work = tempfile::tempdir_in("/dev/shm").unwrap();
    let args = write_and(&[]).to_string();
    let mut command = setup.command(&["call", "base", "fs_probe__run", "--args", &args]);
    let ran = Ran::of(command.arg("--workdir").arg(work.path())).exits(0);
    let note = "note: calls change the workdir at once, and not as transactions: ";
    assert!(ran.stderr.contains(note), "{ran:?}");
    assert!(work.path().join("f").exists());
}

#[test]
fn the_workspace_of_an_instance_outlives_a_release() {
    let setup = Setup::new();
    let state = setup.terminal.path("state");
    let run = |words: &[&str]| {
        let mut command = setup.command(words);
        Ran::of(command.arg("--state-root").arg(&state)).exits(0)
    };
    let call = |args: &Value| {
        let args = args.to_string();
        run(&["call", "base", "fs_probe__run", "--args", &args]).json()["output"].clone()
    };
    call(&write_and(&[]));
    let next = archive(&setup.terminal.path("shipped"), 2);
    fs::write(&setup.archive, next).unwrap();
    let read = call(&json!({"script": [{"op": "open-at", "path": "f"}]}));
    assert_eq!(read["results"][0]["ok"], true, "{read}");
    let listed = run(&["instances", "base"]);
    assert!(listed.stdout.contains("cli"), "{listed:?}");
}

#[test]
fn requests_are_sent_to_the_origins_of_an_option_alone() {
    let setup = Setup::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let bytes = stream.read(&mut request).unwrap();
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")
            .unwrap();
        String::from_utf8_lossy(&request[..bytes]).into_owned()
    });
    let args = json!({"url": format!("{origin}/x")}).to_string();
    let fetch = |options: &[&str]| {
        let call = [
            "call",
            "base",
            "fetch__run",
            "--workdir",
            setup.work(),
            "--args",
            &args,
        ];
        let ran = Ran::of(setup.command(&call).args(options)).exits(0);
        ran.json()["output"]["answers"][0].clone()
    };
    for options in [&[][..], &["--allow-http", "http://127.0.0.2:1"]] {
        let denied = fetch(options);
        assert_eq!(denied["error"], "ErrorCode::HttpRequestDenied", "{denied}");
    }
    let answer = fetch(&[
        "--allow-http",
        "https://api.example.com",
        "--allow-http",
        &origin,
    ]);
    assert_eq!(answer["status"], 200, "{answer}");
    // The requests that were denied did not arrive: the first one is that of the last call.
    assert!(server.join().unwrap().starts_with("GET /x "));
    setup
        .run(&[
            "call",
            "base",
            "fetch__run",
            "--allow-http",
            "api.example.com",
        ])
        .fails(2, "write an origin, such as https://api.example.com");
}

#[test]
fn the_configuration_of_a_client_has_the_name() {
    let setup = Setup::new();
    let words = [
        "serve",
        "base",
        "--workdir",
        ".",
        "--allow-http",
        "https://a.example",
    ];
    let mut command = setup.command(&words);
    let ran = Ran::of(command.args(["--print-config", "cursor"])).exits(0);
    let args = ran.json()["mcpServers"]["toolhost"]["args"].clone();
    assert_eq!((&args[0], &args[1]), (&json!("serve"), &json!("base")));
    let args: Vec<_> = args
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(
        args.windows(2)
            .any(|pair| pair == ["--allow-http", "https://a.example"]),
        "{args:?}"
    );
    // Nothing is unpacked for it.
    let command = Ran::of(
        setup
            .command(&words)
            .args(["--print-config", "claude-code"]),
    )
    .exits(0);
    assert!(
        command.stdout.contains(" serve base --workdir /"),
        "{command:?}"
    );
}

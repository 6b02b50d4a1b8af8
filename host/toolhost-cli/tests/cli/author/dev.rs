//! `toolhost dev`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Desk;
use crate::front_ends::lines::Lines;
use crate::terminal::guest;

const MANIFEST: &str = "{apiVersion: goondan.ai/v1, kind: Tool, metadata: {name: notes}, \
                        spec: {entry: ./Cargo.toml, exports: [{name: run}]}}";

/// Longest wait for the notification.
const SOON: Duration = Duration::from_secs(60);

/// Writes a `cargo` whose build takes until the file `go` exists, or 20 s. It makes a component that was built before, and
/// the file `built`.
fn slow_cargo(desk: &Desk) {
    let here = desk.path("").canonicalize().unwrap();
    let (here, component) = (here.display(), guest("write_bytes"));
    let script = format!(
        r#"#!/bin/sh
case "$*" in *rust-probe*) exit 0;; esac
for round in $(seq 200); do [ -e {here}/go ] && break; sleep 0.1; done
while [ "$1" != --target-dir ]; do shift; done
out=$2/wasm32-wasip2/release
mkdir -p $out/deps
cp {component} $out/notes.wasm
echo "$out/notes.wasm: {here}/src/lib.rs" > $out/notes.d
touch {here}/built
echo '{{"reason":"compiler-artifact","package_id":"path+file://{here}#notes@0.1.0","manifest_path":"{here}/Cargo.toml","target":{{"crate_types":["cdylib"]}},"filenames":["'$out/notes.wasm'"]}}'
"#,
        component = component.display(),
    );
    desk.write("bin/cargo", &script);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(desk.path("bin/cargo"), executable).unwrap();
}

#[test]
fn a_client_is_answered_before_the_first_build_has_ended_and_told_when_the_tools_are_there() {
    let desk = Desk::new();
    desk.write("goondan.yaml", MANIFEST);
    desk.write("Cargo.toml", "[package]\nname = 'notes'\n");
    desk.write("src/lib.rs", "");
    slow_cargo(&desk);
    let mut command = desk.toolhost(&["dev", "--workdir", "../D"]);
    let path = command.get_envs().find(|(name, _)| *name == "PATH");
    let path = path.unwrap().1.unwrap().to_string_lossy().into_owned();
    let path = format!("{}:{path}", desk.path("bin").display());
    command.env("PATH", path);
    command.env("XDG_CACHE_HOME", desk.terminal.path("own-cache"));
    let mut lines = Lines::start(&mut command);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let answer = lines.request("initialize", &params);
    let capabilities = &answer["result"]["capabilities"];
    assert_eq!(capabilities["tools"]["listChanged"], true, "{answer}");
    lines.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let listed = lines.request("tools/list", &json!({}));
    assert_eq!(listed["result"]["tools"], json!([]));
    assert!(!desk.path("built").exists());

    desk.write("go", "");
    let (started, mut notified) = (Instant::now(), Vec::new());
    let is_told = |messages: &[Value]| {
        let mut messages = messages.iter();
        messages.any(|message| message["method"] == "notifications/tools/list_changed")
    };
    while !is_told(&notified) {
        assert!(started.elapsed() < SOON, "{notified:?}");
        lines.request_and("ping", &json!({}), &mut notified);
    }
    let listed = lines.request("tools/list", &json!({}));
    assert_eq!(
        listed["result"]["tools"][0]["name"], "notes__run",
        "{listed}"
    );
}

#[test]
fn a_manifest_with_an_error_is_waited_for() {
    let desk = Desk::new();
    desk.write("goondan.yaml", "kind: [");
    let mut command = desk.toolhost(&["dev", "--workdir", "../D"]);
    let watching = crate::test::watch::Watching::start(&mut command);
    watching.until(&[
        "goondan.yaml holds 1 error",
        "note: waiting for changes; Ctrl-C ends it",
    ]);
    assert_eq!(watching.end(), Some(0));
}

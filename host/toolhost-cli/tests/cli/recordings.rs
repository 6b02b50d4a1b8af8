//! `toolhost call --record`, `toolhost replay` and `toolhost test --from`: recordings of calls.

mod failed;
mod replayed;
mod secrets;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::terminal::{Ran, Terminal, examples, guest, root};

/// The lines of a `.call` file.
fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// Records a call with the workdir `D`. Returns what it printed, and the path of the recording.
fn record(terminal: &Terminal, bundle: &Path, tool: &str, args: &Value) -> (Ran, PathBuf) {
    let file = terminal.path(&format!("{tool}.call"));
    let mut command = terminal.toolhost(["call"]);
    command
        .arg(bundle)
        .args([tool, "--args", &args.to_string()]);
    command.arg("--workdir").arg(terminal.path("D"));
    command.arg("--record").arg(&file);
    (Ran::of(&mut command), file)
}

/// Replays a recording with a bundle, and these options.
fn replay(terminal: &Terminal, bundle: &Path, file: &Path, options: &[&str]) -> Ran {
    let mut command = terminal.toolhost(["replay"]);
    command.arg(file).arg("--bundle").arg(bundle);
    Ran::of(command.args(options))
}

/// Writes a bundle with the tool `probe`, whose component is that guest.
fn probe(terminal: &Terminal, dir: &str, component: &str, export: &str) -> PathBuf {
    let bytes = fs::read(guest(component)).unwrap();
    terminal.write(&format!("{dir}/probe.wasm"), bytes);
    terminal.write(
        &format!("{dir}/goondan.yaml"),
        format!(
            "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {{name: probe}}\n\
             spec: {{entry: ./probe.wasm, exports: [{{name: {export}}}]}}\n"
        ),
    );
    terminal.path(dir)
}

#[test]
fn a_recording_is_private_and_is_not_written_where_the_tool_or_a_link_could_lead_it() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let terminal = Terminal::new();
    let args = json!({"text": "hi"});
    let (ran, file) = record(&terminal, &examples(), "text__upper", &args);
    let ran = ran.exits(0);
    assert_eq!(ran.json()["output"]["text"], "HI");
    assert!(ran.stderr.contains("note: recorded in "), "{ran:?}");
    assert!(ran.stderr.contains("`toolhost replay "), "{ran:?}");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let lines = lines(&file);
    assert_eq!(lines[0]["format"], "toolhost.call");
    assert_eq!(lines[0]["tool"], "text__upper");
    assert_eq!(lines.last().unwrap()["result"], ran.json());

    fs::create_dir(terminal.path("D/sub")).unwrap();
    symlink(terminal.path("D"), terminal.path("linked")).unwrap();
    let other = terminal.write("other", "kept");
    symlink(&other, terminal.path("link.call")).unwrap();
    for (target, says) in [
        ("D/a.call", "lies in the workdir"),
        ("D/sub/a.call", "lies in the workdir"),
        ("linked/a.call", "lies in the workdir"),
        ("nowhere/a.call", "cannot be written"),
    ] {
        let mut command = terminal.toolhost(["call"]);
        command
            .arg(examples())
            .args(["text__upper", "--args", r#"{"text":"x"}"#]);
        command.arg("--workdir").arg(terminal.path("D"));
        command.arg("--record").arg(terminal.path(target));
        Ran::of(&mut command).fails(2, says);
        assert!(!terminal.path(target).exists(), "{target}");
    }
    let mut command = terminal.toolhost(["call"]);
    command
        .arg(examples())
        .args(["text__upper", "--args", r#"{"text":"x"}"#]);
    command.arg("--workdir").arg(terminal.path("D"));
    command.arg("--record").arg(terminal.path("link.call"));
    let ran = Ran::of(&mut command).exits(2);
    assert!(ran.stderr.contains("symbolic link"), "{ran:?}");
    assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
}

#[test]
fn a_call_that_runs_no_component_records_nothing() {
    let terminal = Terminal::new();
    let (ran, file) = record(&terminal, &examples(), "text__upper", &json!({}));
    let ran = ran.exits(1);
    assert!(ran.stderr.contains("note: nothing was recorded"), "{ran:?}");
    assert!(!file.exists());
}

#[test]
fn a_bent_or_cut_recording_and_one_of_a_newer_version_are_refused_with_the_next_move() {
    let terminal = Terminal::new();
    let args = json!({"text": "hi"});
    let (ran, file) = record(&terminal, &examples(), "text__upper", &args);
    ran.exits(0);
    let text = fs::read_to_string(&file).unwrap();
    let lines = text.lines().count();
    let check = |name: &str, content: &str, says: &str, hint: &str| {
        let file = terminal.write(name, content);
        for command in [
            terminal
                .toolhost(["replay", "--bundle"])
                .arg(examples())
                .arg(&file),
            terminal
                .toolhost(["test"])
                .arg(examples())
                .arg("--from")
                .arg(&file),
        ] {
            let ran = Ran::of(command).fails(2, says);
            assert!(ran.stderr.contains(hint), "{ran:?}");
            assert!(ran.stderr.contains(name), "{ran:?}");
        }
    };
    let cut = text.get(..text.len() - 10).unwrap();
    let after = format!("was cut: it ends after line {}", lines - 1);
    check("cut.call", cut, &after, "hint: Copy the whole file again");
    let newer = text.replacen("\"version\":1", "\"version\":2", 1);
    check("newer.call", &newer, "has version 2", "newer one");
    let bent = text.replacen("\"agentName\"", "\"agentName", 1);
    check("bent.call", &bent, "is not a recording", "--record FILE");
    let bent = text.replacen("\"hostCalls\":", "\"hostCalls\":9", 1);
    check("count.call", &bent, "host calls, but", "changed after");
    check(
        "text.call",
        "hello\n",
        "is not a recording",
        "--record FILE",
    );
}

#[test]
fn a_case_of_a_recording_whose_handler_is_a_path_is_not_written() {
    let terminal = Terminal::new();
    let (ran, file) = record(
        &terminal,
        &examples(),
        "text__upper",
        &json!({"text": "hi"}),
    );
    ran.exits(0);
    let text = fs::read_to_string(&file).unwrap();
    let bent = text.replacen("\"name\":\"upper\"", "\"name\":\"x/../../../evil\"", 1);
    assert_ne!(bent, text);
    let file = terminal.write("evil.call", &bent);
    terminal.write("a/b/bundle/goondan.yaml", "");
    let bundle = terminal.path("a/b/bundle");
    // Each folder that the path names is there.
    fs::create_dir_all(bundle.join("tests/recorded-x")).unwrap();
    let mut test = terminal.toolhost(["test"]);
    Ran::of(test.arg(&bundle).arg("--from").arg(&file)).fails(2, "evil.call:1: ");
    let yaml = |folder: &str| {
        let entries = fs::read_dir(terminal.path(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| name.starts_with("evil") && name.ends_with(".yaml"))
            .count()
    };
    for folder in [".", "a", "a/b", "a/b/bundle", "a/b/bundle/tests"] {
        assert_eq!(yaml(folder), 0, "{folder}");
    }
    let mut replay = terminal.toolhost(["replay", "--bundle"]);
    Ran::of(replay.arg(examples()).arg(&file)).fails(2, "evil.call:1: ");
}

#[test]
fn two_equal_calls_have_no_differences() {
    let terminal = Terminal::new();
    let args = json!({"text": "hi"});
    let [left, right] = ["left.call", "right.call"].map(|name| {
        let (ran, file) = record(&terminal, &examples(), "text__upper", &args);
        ran.exits(0);
        let kept = terminal.path(name);
        fs::rename(&file, &kept).unwrap();
        kept
    });
    let mut diff = terminal.toolhost(["replay", "--json"]);
    let ran = Ran::of(diff.arg(&left).arg("--diff").arg(&right)).exits(0);
    assert_eq!(ran.json(), json!({"differences": [], "same": true}));
}

#[test]
fn play_records_each_call_of_a_component() {
    let terminal = Terminal::new();
    let mut play = terminal.toolhost(["play"]);
    play.arg(examples().join("review.yaml"));
    play.arg("--record").arg(terminal.path("calls"));
    Ran::of(&mut play).exits(0);
    let names = terminal.names("calls");
    assert!(
        names
            .iter()
            .any(|name| name.ends_with("-file-system__write.call")),
        "{names:?}"
    );
    let files: Vec<PathBuf> = names
        .iter()
        .map(|name| terminal.path("calls").join(name))
        .collect();
    for file in &files {
        let header = &lines(file)[0];
        assert_eq!(header["detail"], "full", "{header}");
    }

    let mut play = terminal.toolhost(["play"]);
    play.arg(examples().join("review.yaml"));
    play.arg("--keep").arg(terminal.path("kept"));
    fs::create_dir(terminal.path("kept")).unwrap();
    play.arg("--record").arg(terminal.path("kept/calls"));
    Ran::of(&mut play).fails(2, "lies in the folder of the workspaces");
}

//! Files of strangers, such as bundles, schemas, scripts and case files: none makes a command hang, grow, or use
//! what is not its own.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::terminal::{Ran, Terminal, examples, guest};

/// Objects six deep, of twelve properties each.
const OBJECTS_SIX_DEEP: &str =
    include_str!("../../../toolhost-testing/src/generate/tests/objects_six_deep.json");

/// Writes a bundle with the tool `t__say`, whose arguments have this schema.
fn bundle_with(terminal: &Terminal, parameters: &str) {
    terminal.write("here/echo.wasm", fs::read(guest("echo")).unwrap());
    let manifest = format!(
        "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {{name: t}}\n\
         spec: {{entry: ./echo.wasm, exports: [{{name: say, parameters: {parameters}}}]}}\n"
    );
    terminal.write("here/goondan.yaml", manifest);
}

/// Copies the example that reads and writes files, as the tool `file-system` of a bundle in the workdir `D`.
fn file_system_in_its_own_workdir(terminal: &Terminal, manifest: &str) {
    let component = fs::read(examples().join(".toolhost/file-system.wasm")).unwrap();
    terminal.write("D/file-system.wasm", component);
    let text = "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {name: file-system}\n\
                spec: {entry: ./file-system.wasm, exports: [{name: write}, {name: mkdir}]}\n";
    terminal.write(&format!("D/{manifest}"), text);
}

/// Runs a command that may take at most this many bytes of resident memory and this time.
fn runs_within(command: &mut Command, bytes: u64, time: Duration) -> Ran {
    let started = Instant::now();
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.expect("it starts");
    let status = format!("/proc/{}/status", child.id());
    let watching = thread::spawn(move || {
        let mut most = 0;
        // A process that has ended has no memory.
        while let Some(peak) = peak_memory(&status) {
            most = most.max(peak);
            thread::sleep(Duration::from_millis(5));
        }
        most
    });
    let output = child.wait_with_output().expect("it ends");
    let most = watching.join().unwrap();
    assert!(most < bytes, "{most} bytes");
    assert!(started.elapsed() < time, "{:?}", started.elapsed());
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
    }
}

/// The most memory that a process has taken, in bytes; none if it has ended.
fn peak_memory(status: &str) -> Option<u64> {
    let status = fs::read_to_string(status).ok()?;
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
}

#[test]
fn a_schema_that_describes_more_than_there_is_memory_has_cases_and_a_note() {
    let terminal = Terminal::new();
    bundle_with(&terminal, &OBJECTS_SIX_DEEP.replace('\n', " "));
    terminal.run(["check"]).exits(0);
    let minute = Duration::from_secs(60);
    let mut list = terminal.toolhost(["test", "--list"]);
    let listed = runs_within(&mut list, 1 << 30, minute).exits(0);
    assert!(listed.stdout.contains("generated  t__say (valid)"));
    let note = listed.stdout.lines().last().unwrap();
    let says = "note: t__say: its schema describes more arguments than the generated cases cover: ";
    assert!(note.starts_with(says), "{note}");
    let ran = terminal.run(["test", "--json", "-q"]);
    let report = ran.json();
    let left_out = &report["generated"]["leftOut"][0];
    assert_eq!(left_out["tool"], "t__say");
    assert!(left_out["count"].as_u64().unwrap() > 0);
    let ran = terminal.run(["test", "-q"]);
    assert!(ran.stdout.contains(says), "{ran:?}");

    // Of this one not even the smallest value is made: it has 262,144 texts.
    let mut value = json!({"type": "string"});
    let mut schemas = serde_json::Map::new();
    for level in 0..6 {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let properties = names.map(|name| (name.to_owned(), value.clone()));
        let properties: serde_json::Map<_, _> = properties.into_iter().collect();
        let object = json!({"type": "object", "properties": properties, "required": names});
        schemas.insert(format!("l{level}"), object);
        value = json!({"$ref": format!("#/$defs/l{level}")});
    }
    let parameters = json!({
        "type": "object", "properties": {"a": value}, "required": ["a"], "$defs": schemas,
    });
    bundle_with(&terminal, &parameters.to_string());
    let mut list = terminal.toolhost(["test", "--list"]);
    let ran = runs_within(&mut list, 1 << 30, minute).exits(2);
    assert!(ran.stderr.contains(says), "{ran:?}");
}

#[test]
fn a_script_whose_references_are_replaced_by_gigabytes_is_refused() {
    let terminal = Terminal::new();
    bundle_with(&terminal, "{type: object}");
    let script = json!({
        "bundle": "goondan.yaml",
        "start": {"agent": "default", "input": {"text": "x".repeat(80_000)}},
        "agents": {"default": {"steps": [
            {"one": {"tool": "t__say", "args": {"all": vec!["${input.text}"; 50_000]}}},
        ]}},
    });
    terminal.write("here/script.yaml", script.to_string());
    let mut play = terminal.toolhost(["play", "script.yaml"]);
    let ran = runs_within(&mut play, 1 << 30, Duration::from_secs(60));
    ran.fails(1, "the references of one step are replaced by more than");
}

#[test]
fn named_pipes_are_refused_at_once_wherever_a_file_is_read() {
    let terminal = Terminal::new();
    terminal.bundle("here", &[("echo", &["say"])]);
    terminal.write("here/script/goondan.yaml", "");
    for path in ["pipe", "tests.pipe", "script/policy.yaml"] {
        let path = terminal.path("here").join(path);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
    }
    let script = "{bundle: goondan.yaml, policy: policy.yaml, start: {agent: a}, agents: {a: {}}}";
    terminal.write("here/script/script.yaml", script);
    for words in [
        &["check", "pipe"][..],
        &["list", "pipe"],
        &["call", "pipe", "echo__say"],
        &["inspect", "pipe"],
        &["play", "pipe"],
        &["play", "script/script.yaml"],
        &["check", "--policy", "pipe"],
        &["call", "echo__say", "--args", "@pipe"],
    ] {
        let started = Instant::now();
        let ran = terminal.run(words).exits(2);
        assert!(ran.stderr.contains("a named pipe"), "{words:?}: {ran:?}");
        let took = started.elapsed();
        assert!(took < Duration::from_secs(20), "{words:?}: {took:?}");
    }
}

#[test]
fn case_files_beyond_all_measure_are_refused() {
    let terminal = Terminal::new();
    terminal.bundle("here", &[("echo", &["say"])]);
    let minute = Duration::from_secs(60);
    // Endless. It is not a regular file, and so it is not read as a case file.
    fs::create_dir(terminal.path("here/tests")).unwrap();
    let pipe = terminal.path("here/tests/pipe.yaml");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    for n in 0..3 {
        let path = terminal.path(&format!("here/tests/{n}.yaml"));
        // Holes, which take no space.
        fs::File::create(path).unwrap().set_len(12 << 20).unwrap();
    }
    let mut test = terminal.toolhost(["test", "--no-generated"]);
    let ran = runs_within(&mut test, 1 << 30, minute).exits(2);
    assert!(ran.stderr.contains("tests/"), "{ran:?}");

    fs::remove_dir_all(terminal.path("here/tests")).unwrap();
    fs::create_dir(terminal.path("here/tests")).unwrap();
    for n in 0..2_001 {
        fs::write(terminal.path(&format!("here/tests/{n}.yaml")), "").unwrap();
    }
    let mut test = terminal.toolhost(["test", "--no-generated"]);
    runs_within(&mut test, 1 << 30, minute).fails(2, "more than 2000 case files");
}

#[test]
fn a_tool_cannot_plant_what_later_commands_read_of_its_bundle() {
    let terminal = Terminal::new();
    file_system_in_its_own_workdir(&terminal, "tools.yaml");
    let run = |tool: &str, path: &str| {
        let mut call = terminal.toolhost(["call", "../D/tools.yaml", tool, "--args"]);
        let mut args = json!({"path": path});
        if tool.ends_with("write") {
            args["content"] = json!("x");
        }
        Ran::of(call.arg(args.to_string()).args(["--workdir", "../D", "-q"]))
    };
    let write = |path: &str| run("file-system__write", path);
    write("goondan.yaml").exits(1);
    run("file-system__mkdir", "tests/tools").exits(0);
    for path in [
        "tests/a.yaml",
        "tests/a.yml",
        "tests/tools/a.yaml",
        "tests/new/A.YAML",
        "tools.yaml",
    ] {
        let ran = write(path).exits(1);
        let says = "change a write-protected file";
        assert!(ran.stdout.contains(says), "{path}: {ran:?}");
    }
    // Other files are the tool's own.
    for path in ["notes.yaml", "tests/test_a.py", "tests/tools/deep/a.yaml"] {
        write(path).exits(0);
    }
    let mut found = Vec::new();
    let mut folders = vec![terminal.path("D")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                found.push(path.strip_prefix(terminal.path("D")).unwrap().to_owned())
            }
        }
    }
    found.sort();
    let expected = [
        "file-system.wasm",
        "notes.yaml",
        "tests/test_a.py",
        "tests/tools/deep/a.yaml",
        "tools.yaml",
    ];
    assert_eq!(found, expected.map(|path| Path::new(path).to_owned()));
}

#[test]
fn bundles_whose_paths_are_not_utf8_have_workspaces_of_their_own() {
    let terminal = Terminal::new();
    let component = fs::read(examples().join(".toolhost/file-system.wasm")).unwrap();
    let bundle = |byte: u8| terminal.path("here").join(OsStr::from_bytes(&[b'b', byte]));
    for byte in [0xfe, 0xff] {
        fs::create_dir(bundle(byte)).unwrap();
        fs::write(bundle(byte).join("file-system.wasm"), &component).unwrap();
        let text = "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {name: file-system}\n\
                    spec: {entry: ./file-system.wasm, exports: [{name: write}, {name: read}]}\n";
        fs::write(bundle(byte).join("goondan.yaml"), text).unwrap();
    }
    let call = |byte: u8, tool: &str, args: &str| {
        let mut call = terminal.toolhost([OsStr::new("call"), bundle(byte).as_os_str()]);
        call.args([tool, "--args", args, "--state-root", "../state", "-q"]);
        Ran::of(&mut call)
    };
    let write = r#"{"path":"a.txt","content":"of one bundle"}"#;
    call(0xfe, "file-system__write", write).exits(0);
    let read = r#"{"path":"a.txt"}"#;
    call(0xfe, "file-system__read", read).exits(0);
    let other = call(0xff, "file-system__read", read).exits(1);
    assert!(!other.stdout.contains("of one bundle"), "{other:?}");
    for command in ["check", "list", "test"] {
        let ran = Ran::of(&mut terminal.toolhost([OsStr::new(command), bundle(0xff).as_os_str()]));
        assert!(matches!(ran.code, Some(0 | 1)), "{command}: {ran:?}");
    }
}

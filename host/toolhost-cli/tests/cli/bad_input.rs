//! Invalid input: one error that names the thing, the place and the next move.

use std::fs;

use crate::terminal::{Ran, Terminal, examples, guest, with_stdin};

#[test]
fn every_command_names_a_bundle_that_cannot_be_read() {
    let terminal = Terminal::new();
    fs::create_dir(terminal.path("here/empty")).unwrap();
    std::os::unix::fs::symlink("loop", terminal.path("here/loop")).unwrap();
    for (bundle, says) in [
        (
            "nowhere",
            "the bundle nowhere cannot be read: there is no such file or directory",
        ),
        ("empty", "there is no goondan.yaml in empty"),
        ("loop", "the bundle loop cannot be read"),
    ] {
        for command in [
            &["check", bundle][..],
            &["list", bundle],
            &["call", bundle, "a__b"],
        ] {
            let ran = terminal.run(command).fails(2, says);
            assert!(ran.stderr.contains("\nhint: "), "{ran:?}");
        }
    }
    for command in [&["check"][..], &["list"], &["call", "a__b"]] {
        terminal
            .run(command)
            .fails(2, "the bundle goondan.yaml cannot be read");
    }
    assert_eq!(terminal.names("here"), ["empty", "loop"]);
}

#[test]
fn an_invalid_bundle_does_not_load() {
    let terminal = Terminal::new();
    let tool = |entry: &str| {
        format!(
            "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {{name: t}}\n\
             spec: {{entry: {entry}, exports: [{{name: run}}]}}\n"
        )
    };
    terminal.write("here/core.wasm", b"\0asm\x01\0\0\0");
    terminal.write("here/text.wasm", "hello");
    terminal.write("here/empty.wasm", "");
    terminal.write("here/dir.wasm/x", "");
    terminal.write("here/echo.wasm", fs::read(guest("echo")).unwrap());
    for (name, yaml, says) in [
        ("yaml", "a: [1".to_owned(), "E_CONFIG_PARSE_ERROR"),
        ("text", "just words".to_owned(), "E_CONFIG_SCHEMA_INVALID"),
        ("nothing", String::new(), "nothing.yaml"),
        ("binary", "\u{0}\u{1}".to_owned(), "E_CONFIG_PARSE_ERROR"),
        ("none", tool("./none.wasm"), "entry none.wasm"),
        ("core", tool("./core.wasm"), "core WebAssembly module"),
        ("words", tool("./text.wasm"), "the file is not WebAssembly"),
        ("empty", tool("./empty.wasm"), "the file is empty"),
        ("dir", tool("./dir.wasm"), "a directory, not a regular file"),
        ("out", tool("../outside.wasm"), "E_CONFIG"),
        (
            "handler",
            tool("./echo.wasm"),
            "handler 'run' is not served by ./echo.wasm",
        ),
    ] {
        let file = format!("{name}.yaml");
        terminal.write(&format!("here/{file}"), yaml);
        // The finding, then one error.
        for (command, code) in [
            (&["check", file.as_str()][..], 1),
            (&["list", &file], 2),
            (&["call", &file, "t__run"], 2),
        ] {
            let state = ["--state-root", "../state"];
            let mut toolhost = terminal.toolhost(command.iter().chain(&state));
            let ran =
                Ran::of(toolhost.env("XDG_CACHE_HOME", terminal.path("cache"))).fails(code, says);
            assert!(
                ran.stderr.contains(&format!("error: {file} holds ")),
                "{ran:?}"
            );
            assert!(ran.stderr.contains("\nhint: "), "{ran:?}");
        }
    }
    assert!(
        !terminal.path("state/workspaces").exists(),
        "nothing half-made"
    );
}

#[test]
fn arguments_that_are_not_an_object_are_refused() {
    let terminal = Terminal::new();
    fs::create_dir(terminal.path("here/dir")).unwrap();
    terminal.write("here/list.json", "[1]");
    terminal.write("here/latin1.json", b"{\"a\": \"\xe9\"}");
    terminal.write("here/empty.json", "");
    let large = fs::File::create(terminal.path("here/large.json")).unwrap();
    large.set_len((16 << 20) + 1).unwrap();
    for (args, says) in [
        ("[1]", "--args is an array, not a JSON object"),
        ("7", "--args is a number, not a JSON object"),
        ("", "--args is empty, not JSON"),
        (
            "{path: a}",
            "--args is not valid JSON: key must be a string at line 1 column 2",
        ),
        (
            "@list.json",
            "the arguments file list.json is an array, not a JSON object",
        ),
        (
            "@empty.json",
            "the arguments file empty.json is empty, not JSON",
        ),
        (
            "@nowhere.json",
            "the arguments file nowhere.json cannot be read: there is no such file",
        ),
        ("@dir", "the arguments file dir is a directory, not a file"),
        (
            "@",
            "the arguments file  cannot be read: there is no such file",
        ),
        (
            "@latin1.json",
            "the arguments file latin1.json is not UTF-8 text",
        ),
        (
            "@large.json",
            "large.json cannot be read: it is larger than 16777216 bytes",
        ),
        ("-", "stdin is empty, not JSON"),
    ] {
        let ran = terminal.call("text__upper", args).fails(2, says);
        assert!(
            ran.stderr
                .contains("\nhint: Pass JSON, such as an object: --args '{"),
            "{ran:?}"
        );
    }
    let mut command = terminal.toolhost(["call", "--args", "-", "--workdir", "../D"]);
    command.arg(examples()).arg("text__upper");
    with_stdin(&mut command, b"\xff").fails(2, "stdin is not UTF-8 text");
}

#[test]
fn arguments_beyond_the_limits_are_an_error_in_the_result() {
    let terminal = Terminal::new();
    let text = "x".repeat(2 << 20);
    terminal.write("here/long.json", format!("{{\"text\": \"{text}\"}}"));
    let deep = format!("{{\"text\": {}{}}}", "[".repeat(100), "]".repeat(100));
    for args in ["@long.json", &deep] {
        let result = terminal.call("text__upper", args).exits(1).json();
        assert_eq!(result["error"]["code"], "E_TOOL_INVALID_ARGS");
    }
}

#[test]
fn an_invalid_policy_stops_the_load() {
    let terminal = Terminal::new();
    terminal.write("here/typo.yaml", "tolls: {}\n");
    terminal.write("here/broken.yaml", "tools: [");
    fs::create_dir(terminal.path("here/dir")).unwrap();
    for (policy, code, says) in [
        (
            "nowhere.yaml",
            2,
            "the policy nowhere.yaml cannot be read: there is no such file",
        ),
        ("dir", 2, "the policy dir is a directory, not a file"),
        ("typo.yaml", 1, "unknown key 'tolls'"),
        (
            "broken.yaml",
            1,
            "error: the policy broken.yaml cannot be used",
        ),
    ] {
        let mut check = terminal.toolhost(["check", "--policy", policy]);
        let ran = Ran::of(check.arg(examples())).fails(code, says);
        assert!(ran.stderr.contains("\nhint: "), "{ran:?}");
        let mut call = terminal.toolhost(["call", "--policy", policy, "--workdir", "../D"]);
        Ran::of(call.arg(examples()).arg("text__upper")).fails(2, says);
    }
}

#[test]
fn a_bundle_in_place_of_a_tool_is_reported() {
    let terminal = Terminal::new();
    let mut command = terminal.toolhost(["call"]);
    let ran = Ran::of(command.arg(examples())).fails(2, "the call names no tool: ");
    assert!(
        ran.stderr.contains("\nhint: toolhost call [BUNDLE] TOOL"),
        "{ran:?}"
    );
    terminal
        .run(["call", "--usage"])
        .fails(2, "the call names no tool");
}

#[test]
fn control_characters_in_names_are_escaped() {
    let terminal = Terminal::new();
    let ran = terminal
        .run(["check", "a\u{1b}[2Jb\u{9b}\n"])
        .fails(2, "a\\u{1b}[2Jb\\u{9b} ");
    assert!(!ran.stderr.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn errors_in_a_policy_do_not_print_its_secrets() {
    let terminal = Terminal::new();
    terminal.bundle("here", &[("echo", &["say"])]);
    let lines = [
        "      BEFORE: {secret: sk-live-1}",
        "      FIRST: plain-2",
        "      TOKEN: {secert: sk-live-3}",
        "      LAST: {secret: sk-live-4}",
    ];
    let policy = format!(
        "tools:\n  echo:\n    env:\n{}\n    readonly: true\n",
        lines.join("\n")
    );
    let broken = format!("{policy}  x: [\n");
    let remark = "tools:\n  ecco: {env: {TOKEN: {secret: sk-live-5}}}\n  echo: {}\n";
    for (policy, code, says) in [
        (policy.as_str(), 1, "unknown key 'readonly'"),
        (&broken, 1, "E_CONFIG_PARSE_ERROR"),
        (remark, 1, "Tool/ecco is not in the bundle"),
    ] {
        terminal.write("policy.yaml", policy);
        let ran = terminal
            .run(["check", "--policy", "../policy.yaml"])
            .exits(code);
        assert!(ran.stderr.contains(says), "{ran:?}");
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!all.contains("live") && !all.contains("plain-2"), "{ran:?}");
    }
}

#[test]
fn control_characters_in_wrong_usage_are_escaped() {
    let terminal = Terminal::new();
    let ran = terminal.run(["poll", "b.yaml", "--\u{1b}]0;x\u{7}\u{202e}"]);
    let ran = ran.exits(2);
    assert!(ran.stderr.contains("\\u{202e}"), "{ran:?}");
    assert!(
        !ran.stderr
            .contains(|c| c != '\n' && toolhost::text::needs_escape(c))
    );
}

//! `toolhost inspect`: describes a component.

use std::fs;

use serde_json::json;

use crate::terminal::{Ran, Terminal, examples, guest};

#[test]
fn json_describes_a_component() {
    let terminal = Terminal::new();
    let file = examples().join(".toolhost/file-system.wasm");
    let answer = Ran::of(terminal.toolhost(["inspect", "--json"]).arg(&file))
        .exits(0)
        .json();
    assert_eq!(answer["loads"], true);
    assert_eq!(answer["bytes"], fs::metadata(file).unwrap().len());
    assert_eq!(answer["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(answer["exports"][0], "goondan:tool/handlers@2.0.0");
    let handlers = answer["handlers"].as_array().unwrap();
    let names: Vec<_> = handlers
        .iter()
        .map(|handler| handler["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 13, "{names:?}");
    assert_eq!(names[..3], ["read", "write", "edit"]);
    assert!(
        answer["asks"]
            .to_string()
            .contains("files: reads and writes its workdir"),
        "{answer}"
    );
    assert!(
        answer["imports"]
            .to_string()
            .contains("wasi:filesystem/types@0.2."),
        "{answer}"
    );
}

#[test]
fn json_has_the_descriptions_that_a_component_has() {
    let terminal = Terminal::new();
    let file = examples().join(".toolhost/text.wasm");
    let answer = Ran::of(terminal.toolhost(["inspect", "--json"]).arg(file))
        .exits(0)
        .json();
    let handlers = answer["handlers"].as_array().unwrap();
    let described = |handler: &serde_json::Value| handler["description"].is_string();
    assert!(
        !handlers.is_empty() && handlers.iter().all(described),
        "{answer}"
    );
}

#[test]
fn text_describes_a_component() {
    let terminal = Terminal::new();
    let file = examples().join(".toolhost/text.wasm");
    let text = Ran::of(terminal.toolhost(["inspect"]).arg(file))
        .exits(0)
        .stdout;
    for says in [
        "\n  loads   yes\n",
        "\n  sha256  ",
        "\nserves\n  upper        Turns text into upper case\n",
        "\nasks for\n",
        "\nexports\n  goondan:tool/handlers@2.0.0",
    ] {
        assert!(text.contains(says), "{says:?}: {text}");
    }
}

#[test]
fn a_component_that_would_not_load_is_reported_with_a_hint() {
    let terminal = Terminal::new();
    terminal.write("here/core.wasm", b"\0asm\x01\0\0\0");
    terminal.write("here/text.wasm", "hello");
    terminal.write("here/empty.wasm", "");
    terminal.write("here/none.wasm", b"\0asm\x0d\0\x01\0");
    fs::copy(guest("describe_trap"), terminal.path("here/trap.wasm")).unwrap();
    for (file, code, says) in [
        (
            "core.wasm",
            "E_COMPONENT_INVALID",
            "a core WebAssembly module, not a component",
        ),
        (
            "text.wasm",
            "E_COMPONENT_INVALID",
            "the file is not WebAssembly",
        ),
        ("empty.wasm", "E_COMPONENT_INVALID", "the file is empty"),
        (
            "none.wasm",
            "E_COMPONENT_WRONG_WORLD",
            "does not export goondan:tool/handlers",
        ),
        (
            "trap.wasm",
            "E_COMPONENT_DESCRIBE_FAILED",
            "describe failed",
        ),
    ] {
        let ran = terminal.run(["inspect", file]).exits(1);
        assert!(
            ran.stdout.contains(&format!("{file}\n  loads   no: ")),
            "{ran:?}"
        );
        assert!(
            ran.stdout.contains(says) && ran.stdout.contains("\n  next    "),
            "{ran:?}"
        );
        let answer = terminal.run(["inspect", file, "--json"]).exits(1).json();
        assert_eq!(answer["loads"], false);
        assert_eq!(answer["error"]["code"], code);
        assert!(
            answer["error"]["message"].as_str().unwrap().contains(says),
            "{answer}"
        );
        assert!(answer["error"]["help"].is_string());
    }
}

#[test]
fn a_component_that_cannot_be_read_is_named() {
    let terminal = Terminal::new();
    fs::create_dir(terminal.path("here/dir.wasm")).unwrap();
    terminal.run(["inspect", "nowhere.wasm"]).fails(
        2,
        "the component nowhere.wasm cannot be read: there is no such file",
    );
    terminal
        .run(["inspect", "dir.wasm"])
        .fails(2, "the component dir.wasm is a directory, not a file");
    terminal
        .run(["inspect", "/dev/zero"])
        .fails(2, "/dev/zero cannot be read: it holds more than");
}

#[test]
fn the_text_lists_each_grant_that_a_component_asks_for() {
    let terminal = Terminal::new();
    for (name, says) in [
        (
            "ask_agents",
            "\n  agents: calls other agents (refused unless granted)\n",
        ),
        ("dial_out", "\n  network: TCP (never granted)\n"),
    ] {
        let inspect = &mut terminal.toolhost(["inspect"]);
        let text = Ran::of(inspect.arg(guest(name))).exits(0).stdout;
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn a_component_loads_with_its_generated_manifest() {
    let terminal = Terminal::new();
    let file = examples().join(".toolhost/text.wasm");
    fs::copy(&file, terminal.path("here/Text Tools.wasm")).unwrap();
    let ran = terminal
        .run(["inspect", "Text Tools.wasm", "--manifest"])
        .exits(0);
    terminal.write("here/goondan.yaml", &ran.stdout);
    let checked = terminal.run(["check"]).exits(0);
    assert_eq!(
        checked.stdout,
        "goondan.yaml: ok: 1 tool, 3 exports, 0 agents\n"
    );
    let args = ["--args", r#"{"text": "hi"}"#, "--workdir", "../D"];
    let words = [&["call", "text-tools__upper"][..], &args].concat();
    assert_eq!(terminal.run(words).exits(0).json()["output"]["text"], "HI");

    terminal.write("here/core.wasm", b"\0asm\x01\0\0\0");
    let refused = terminal.run(["inspect", "core.wasm", "--manifest"]);
    refused.fails(2, "core.wasm would not load: ");
}

#[test]
fn the_world_of_a_component_is_printed_even_if_it_would_not_load() {
    let terminal = Terminal::new();
    fs::copy(guest("dial_out"), terminal.path("here/a.wasm")).unwrap();
    fs::copy(guest("describe_trap"), terminal.path("here/b.wasm")).unwrap();
    for file in ["a.wasm", "b.wasm"] {
        let wit = terminal.run(["inspect", file, "--wit"]).exits(0).stdout;
        assert!(
            wit.starts_with("package root:component;\n\nworld root {\n  import "),
            "{wit}"
        );
        assert!(
            wit.ends_with("  export goondan:tool/handlers@2.0.0;\n}\n"),
            "{wit}"
        );
    }
    let wit = terminal.run(["inspect", "a.wasm", "--wit"]).exits(0).stdout;
    assert!(wit.contains("\n  import wasi:sockets/tcp@0.2."), "{wit}");
    terminal.write("here/text.wasm", "hello");
    terminal.run(["inspect", "text.wasm", "--wit"]).exits(1);
    terminal
        .run(["inspect", "a.wasm", "--wit", "--json"])
        .exits(2);
}

#[test]
fn a_certificate_file_that_cannot_be_used_is_named_before_anything_runs() {
    let terminal = Terminal::new();
    terminal.write("here/empty.pem", "no certificate");
    let malformed = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    terminal.write("here/malformed.pem", malformed);
    let file = examples().join(".toolhost/text.wasm");
    for (pem, says) in [
        ("empty.pem", "it has no `-----BEGIN CERTIFICATE-----`"),
        (
            "malformed.pem",
            "the certificate file malformed.pem cannot be used",
        ),
        ("none.pem", "the certificate file none.pem cannot be read"),
    ] {
        let ran = Ran::of(terminal.toolhost(["inspect", "--ca-file", pem]).arg(&file));
        ran.fails(2, says);
    }
}

#[test]
fn inspect_its_manifest_and_check_refuse_a_described_schema_with_the_same_words() {
    let terminal = Terminal::new();
    fs::copy(guest("describe_wrong_schema"), terminal.path("here/t.wasm")).unwrap();
    let message = "describe gives 'run' parameters that cannot be used: the top-level 'type' of the schema must be 'object'";
    let help = "Write `\"type\": \"object\"` at the top of the schema in the component, or write the parameters of 'run' in spec.exports of the manifest.";
    let inspected = terminal
        .run(["inspect", "t.wasm", "--json"])
        .exits(1)
        .json();
    let error = json!({"code": "E_COMPONENT_DESCRIBE_FAILED", "message": message, "help": help});
    assert_eq!(
        (&inspected["loads"], &inspected["error"]),
        (&json!(false), &error)
    );
    assert_eq!(
        inspected["handlers"][0]["parameters"],
        json!({"type": "string"})
    );
    let text = terminal.run(["inspect", "t.wasm"]).exits(1).stdout;
    assert!(
        text.contains(&format!("\n  loads   no: {message}\n")),
        "{text}"
    );
    let manifest = terminal.run(["inspect", "t.wasm", "--manifest"]);
    assert_eq!(manifest.stdout, "");
    assert!(
        manifest.stderr.contains(message) && manifest.stderr.contains(help),
        "{manifest:?}"
    );

    let bundle = |exports: &str| {
        let head = "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {name: t}\n";
        let yaml = format!("{head}spec: {{entry: ./t.wasm, exports: [{exports}]}}\n");
        terminal.write("here/goondan.yaml", yaml);
        terminal.run(["check", "--json"])
    };
    let checked = bundle("{name: run}").exits(1).json();
    let finding = &checked["diagnostics"][0];
    assert_eq!(finding["code"], "E_COMPONENT_DESCRIBE_FAILED", "{checked}");
    assert!(
        finding["message"].as_str().unwrap().contains(message),
        "{checked}"
    );
    assert_eq!(finding["help"], help);
    bundle("{name: run, parameters: {type: object}}").exits(0);
}

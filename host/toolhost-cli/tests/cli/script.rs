//! `toolhost script`, and what clients of `toolhost serve --tools script` see.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::terminal::{Terminal, guest, root};

/// Copies the component of a tool of the examples to a folder. Returns the document of the tool, or none if it is not built.
pub(crate) fn copy_tool(folder: &str, name: &str, to: &Path) -> Option<String> {
    let from = root("guest-examples").join(folder);
    let component = format!("{name}.wasm");
    let built = from.join(".toolhost").join(&component);
    if fs::copy(&built, to.join(&component)).is_err() {
        #[expect(
            clippy::print_stderr,
            reason = "who runs the tests reads what was not tested"
        )]
        {
            eprintln!("NOT TESTED: {} is not built", built.display());
        }
        return None;
    }
    let manifest = fs::read_to_string(from.join("goondan.yaml")).unwrap();
    let named = format!("metadata:\n  name: {name}\n");
    let mut documents = manifest.split("\n---\n");
    let document = documents.find(|text| text.contains(&named)).unwrap();
    let lines = document.lines().map(|line| {
        if line.starts_with("  entry: ") {
            format!("  entry: ./{component}\n")
        } else {
            format!("{line}\n")
        }
    });
    Some(lines.collect())
}

/// Writes a bundle of the tool that runs programs in JavaScript, and of a tool that programs call. Returns whether the
/// former is built.
fn write_bundle(dir: &Path) -> bool {
    // Without its agent: the implicit one has all tools.
    let Some(javascript) = copy_tool("typescript/javascript", "javascript", dir) else {
        return false;
    };
    fs::copy(guest("text"), dir.join("text.wasm")).unwrap();
    let text = json!({"apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": "text"},
        "spec": {"entry": "./text.wasm", "exports": [{"name": "upper", "description": "Turns text into upper case",
            "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}},
            {"name": "count", "description": "Counts words"}]}});
    fs::write(dir.join("goondan.yaml"), format!("{javascript}---\n{text}")).unwrap();
    true
}

#[test]
fn a_program_runs_over_the_tools_of_a_bundle_and_its_result_alone_is_on_stdout() {
    let terminal = Terminal::new();
    if !write_bundle(&terminal.path("here")) {
        return;
    }
    let program = "console.log('so far'); return (await tools.text.upper({text: args.word})).text";
    fs::write(terminal.path("here/shout.js"), program).unwrap();
    let args = r#"{"word": "hi"}"#;
    let ran = terminal
        .run(["script", "shout.js", ".", "--args", args])
        .exits(0);
    assert_eq!(ran.stdout.trim(), r#""HI""#);
    assert!(ran.stderr.contains("so far"), "{}", ran.stderr);
    // The option narrows what it may call.
    let narrowed = [
        "script",
        "shout.js",
        ".",
        "--args",
        args,
        "--allow-tool",
        "text__count",
    ];
    let ran = terminal.run(narrowed).exits(1);
    assert!(
        ran.stdout.contains("E_TOOL_DENIED") && ran.stdout.contains("text__upper"),
        "{}",
        ran.stdout
    );
    for (wrong, meant) in [("text__uper", "text__upper"), ("txet__*", "text__*")] {
        let misspelt = ["script", "shout.js", ".", "--allow-tool", wrong];
        let ran = terminal.run(misspelt).fails(2, wrong);
        assert!(ran.stderr.contains(meant), "{ran:?}");
    }
    // So does the policy.
    fs::write(
        terminal.path("here/policy.yaml"),
        "tools: {javascript: {tools: []}}",
    )
    .unwrap();
    let denied = [
        "script",
        "shout.js",
        ".",
        "--args",
        args,
        "--policy",
        "policy.yaml",
    ];
    let ran = terminal.run(denied).exits(1);
    assert!(ran.stdout.contains("E_TOOL_DENIED"), "{}", ran.stdout);
    // What it says of the other language ends the default of both.
    terminal.write(
        "here/policy.yaml",
        "{strict: false, tools: {python: {tools: [text__uper]}}}",
    );
    let ran = terminal.run(denied).exits(1);
    assert!(ran.stdout.contains("E_TOOL_DENIED"), "{}", ran.stdout);
    let check = ["check", ".", "--policy", "policy.yaml"];
    let ran = terminal.run(check).exits(0);
    assert!(
        ran.stderr.contains("Did you mean 'text__upper'?"),
        "{ran:?}"
    );
    // Without a rule for either, the warning says who grants it.
    let ran = terminal.run(["check", "."]).exits(0);
    assert!(ran.stderr.contains("`toolhost script`"), "{ran:?}");
    let ran = terminal
        .run(["script", "-", ".", "--lang", "python"])
        .exits(2);
    assert!(
        ran.stderr.contains("python__script") && ran.stderr.contains("include: [base]"),
        "{}",
        ran.stderr
    );
    let ran = terminal.run(["script", "goondan.yaml", "."]).exits(2);
    assert!(ran.stderr.contains("--lang"), "{}", ran.stderr);
}

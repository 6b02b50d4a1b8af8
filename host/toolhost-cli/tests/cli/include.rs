//! Bundles that include others.

use std::fs;

use crate::terminal::Terminal;

/// A bundle `here` that includes those in the folders `here/say` and `here/two`.
fn two_folders() -> Terminal {
    let terminal = Terminal::new();
    terminal.bundle("here/say", &[("echo", &["say", "context"])]);
    terminal.bundle("here/two", &[("two_handlers", &["a"])]);
    terminal.write("here/goondan.yaml", "include: [./say, two/goondan.yaml]\n");
    terminal
}

#[test]
fn the_tools_of_two_folders_work_together() {
    let terminal = two_folders();
    let ran = terminal.run(["list", "--json"]).exits(0);
    for name in ["echo__say", "two_handlers__a"] {
        assert!(
            ran.stdout.contains(&format!("\"{name}\"")),
            "{}",
            ran.stdout
        );
    }
    let said = terminal.call("echo__say", r#"{"text": "hi"}"#).exits(0);
    assert_eq!(said.json()["output"]["text"], "hi");
    let listed = terminal.run(["check"]).exits(0);
    assert!(
        listed
            .stdout
            .starts_with("goondan.yaml: ok: 2 tools, 3 exports"),
        "{}",
        listed.stdout
    );
}

#[test]
fn a_finding_in_an_included_bundle_is_printed_with_its_file_and_lines() {
    let terminal = two_folders();
    let manifest = terminal.path("here/two/goondan.yaml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("two_handlers.wasm", "missing.wasm")).unwrap();
    let ran = terminal
        .run(["check"])
        .fails(1, "goondan.yaml holds 1 error");
    for part in [
        "two/goondan.yaml:4:",
        "entry: ./missing.wasm",
        "two/missing.wasm",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}

//! `--update`: writes the actual results into the case files, and changes nothing else there.

use std::fs;
use std::os::unix::fs::symlink;

use super::{bundle, timeless};
use crate::terminal::Terminal;

const BEFORE: &str = r#"# What the tools of this bundle do.
- name: upper      # the first
  tool: text__upper
  args: { text: "ha" }
  expect:
    output: { text: wrong }   # what it was

- name: several
  tool: fs__write
  args: { path: a.txt, content: "new\n" }
  files: { a.txt: "old\n" }
  expect:
    output:
      path: /a.txt
      # bytes
      size: 999
      written: true

    files:
      a.txt: |
        old
    usage: { filesMade: 2 }

- name: now an error
  tool: text__upper
  args: {}
  expect: { output: { text: "" }, denials: [] }

- name: passes
  tool: echo__say
  expect: { output: {} }
"#;

const AFTER: &str = r#"# What the tools of this bundle do.
- name: upper      # the first
  tool: text__upper
  args: { text: "ha" }
  expect:
    output: { text: "HA" }   # what it was

- name: several
  tool: fs__write
  args: { path: a.txt, content: "new\n" }
  files: { a.txt: "old\n" }
  expect:
    output: { path: "/a.txt", size: 4, written: true }

    files:
      a.txt: "new\n"
    usage: { filesMade: 2 }

- name: now an error
  tool: text__upper
  args: {}
  expect:
    error:
      code: "E_TOOL_INVALID_ARGS"
      message: "Invalid arguments for tool 'text__upper': args.text: required property is missing"
    denials: []

- name: passes
  tool: echo__say
  expect: { output: {} }
"#;

#[test]
fn update_writes_the_actual_results_into_the_case_files() {
    let terminal = Terminal::new();
    let file = bundle(&terminal, BEFORE);
    terminal.run(["test", "--no-generated"]).exits(1);
    assert_eq!(fs::read_to_string(&file).unwrap(), BEFORE);
    let ran = terminal
        .run(["test", "--no-generated", "--update"])
        .exits(0);
    assert_eq!(
        timeless(&ran.stdout),
        "4 cases: 1 passed, 3 updated · [time]"
    );
    assert!(
        ran.stderr.contains("tests/a.yaml: 3 cases updated"),
        "{ran:?}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), AFTER);
    let again = terminal
        .run(["test", "--no-generated", "--update"])
        .exits(0);
    assert_eq!(timeless(&again.stdout), "4 cases: 4 passed · [time]");
    assert_eq!(fs::read_to_string(&file).unwrap(), AFTER);
}

#[test]
fn update_leaves_expressions_to_the_author() {
    let terminal = Terminal::new();
    let text = "- name: a\n  tool: echo__say\n  args: {a: 1}\n  expect: {output: {a: 2}, outputMatches: x}\n";
    let file = bundle(&terminal, text);
    let ran = terminal
        .run(["test", "--no-generated", "--update"])
        .exits(1);
    let said = "'a' is not updated: change what it expects of output by hand";
    assert!(ran.stderr.contains(said), "{ran:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);

    // An expression is kept also if the call ends with another status.
    for text in [
        "- name: a\n  tool: text__upper\n  expect: {outputMatches: x} # mine\n",
        "- name: a\n  tool: echo__say\n  expect: {error: {message: {matches: x}}} # mine\n",
    ] {
        fs::write(&file, text).unwrap();
        let ran = terminal
            .run(["test", "--no-generated", "--update"])
            .exits(1);
        assert!(ran.stderr.contains("what it expects of status"), "{ran:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn a_case_file_outside_the_bundle_is_neither_read_nor_written() {
    let terminal = Terminal::new();
    let file = bundle(&terminal, BEFORE);
    terminal.write("elsewhere/b.yaml", BEFORE);
    let elsewhere = terminal.path("elsewhere/b.yaml");
    let linked = file.with_file_name("b.yaml");
    symlink(&elsewhere, &linked).unwrap();
    let ran = terminal.run(["test", "--no-generated", "--update"]);
    ran.fails(2, "the case file tests/b.yaml is a link");
    fs::remove_file(&linked).unwrap();

    let folder = file.parent().unwrap();
    fs::rename(folder, folder.with_file_name("kept")).unwrap();
    symlink(elsewhere.parent().unwrap(), folder).unwrap();
    let ran = terminal.run(["test", "--no-generated", "--update"]);
    ran.fails(2, "resolves outside the bundle's directory");
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), BEFORE);
}

#[test]
fn update_accepts_another_code_a_result_in_its_place_and_an_unexpected_error() {
    let terminal = Terminal::new();
    let before = r#"- name: another code # of the host
  tool: text__upper
  args: {}
  expect: { error: MINE }   # short

- name: another code below
  tool: text__upper
  expect:
    # why
    error: MINE # code
    denials: []
- name: no error
  tool: echo__say
  expect: { error: MINE }
- name: no expectation
  tool: text__upper
  args: {} # none
- {name: in braces, tool: text__upper} # all
- name: in a mapping
  tool: text__upper
  expect: { error: { code: MINE, suggestion: { matches: arguments } } }
"#;
    let after = r#"- name: another code # of the host
  tool: text__upper
  args: {}
  expect: { error: "E_TOOL_INVALID_ARGS" }   # short

- name: another code below
  tool: text__upper
  expect:
    # why
    error: "E_TOOL_INVALID_ARGS" # code
    denials: []
- name: no error
  tool: echo__say
  expect: { output: {} }
- name: no expectation
  tool: text__upper
  args: {} # none
  expect:
    error:
      code: "E_TOOL_INVALID_ARGS"
      message: "Invalid arguments for tool 'text__upper': args.text: required property is missing"
- {name: in braces, tool: text__upper, expect: { error: { code: "E_TOOL_INVALID_ARGS", message: "Invalid arguments for tool 'text__upper': args.text: required property is missing" } }} # all
- name: in a mapping
  tool: text__upper
  expect: { error: { code: "E_TOOL_INVALID_ARGS", suggestion: { matches: arguments } } }
"#;
    let file = bundle(&terminal, before);
    let ran = terminal
        .run(["test", "--no-generated", "--update"])
        .exits(0);
    assert_eq!(
        timeless(&ran.stdout),
        "6 cases: 0 passed, 6 updated · [time]"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), after);
    let again = terminal.run(["test", "--no-generated"]).exits(0);
    assert_eq!(timeless(&again.stdout), "6 cases: 6 passed · [time]");
}

//! Annotations of GitHub Actions, and output of tools that pretends to be a workflow command.

use std::fs;

use super::bundle;
use crate::terminal::{Ran, Terminal};

/// Runs with the environment of a workflow whose workspace is the directory above.
fn in_workflow(terminal: &Terminal, words: &[&str]) -> Ran {
    let mut command = terminal.toolhost(["test", "--no-generated"].iter().chain(words));
    command.env("GITHUB_ACTIONS", "true");
    Ran::of(command.env("GITHUB_WORKSPACE", terminal.path("")))
}

/// The lines that a runner reads as commands.
fn commands(ran: &Ran) -> Vec<String> {
    let lines = ran.stdout.lines().chain(ran.stderr.lines());
    let is_command = |line: &&str| line.trim_start().starts_with("::") || line.contains("##[");
    lines.filter(is_command).map(str::to_owned).collect()
}

const FAILING: &str = "\
- {name: passes, tool: echo__say}
- name: '50%, a: b'
  tool: echo__say
  args: {n: 1}
  expect: {output: {n: 2}, files: {a.txt: hi}}
";

#[test]
fn a_failed_case_is_an_annotation_at_its_line() {
    let terminal = Terminal::new();
    bundle(&terminal, FAILING);
    let annotation = "::error file=here/tests/a.yaml,line=2,title=50%25%2C a%3A b::\
        output: expected {\"n\":2} but got {\"n\":1}%0A\
        at /n: expected 2 but got 1%0A\
        files a.txt: expected \"hi\" but got nothing of that name";
    for words in [&[][..], &["--json"], &["-q"], &["-v"], &["../here"]] {
        let ran = in_workflow(&terminal, words).exits(1);
        assert_eq!(commands(&ran), [annotation], "{words:?}");
        // The answer stays free of commands.
        assert!(ran.stderr.lines().any(|line| line == annotation), "{ran:?}");
    }
    let words = ["test", "--no-generated", "--github"];
    let ran = terminal.run(words).exits(1);
    assert_eq!(commands(&ran), [annotation.replace("=here/", "=")]);
    assert_eq!(
        commands(&terminal.run(["test", "--no-generated"]).exits(1)),
        [""; 0]
    );
}

#[test]
fn an_error_in_a_case_file_is_an_annotation() {
    let terminal = Terminal::new();
    bundle(&terminal, "- name: a\n  tool: echo__say\n  expects: {}\n");
    let ran = in_workflow(&terminal, &[]).exits(2);
    let commands = commands(&ran);
    assert_eq!(commands.len(), 1, "{ran:?}");
    let start = "::error file=here/tests/a.yaml,line=3,title=E_CONFIG_SCHEMA_INVALID::unknown key 'expects'%0A";
    assert!(commands[0].starts_with(start), "{ran:?}");
}

#[test]
fn a_generated_case_that_fails_is_an_annotation_at_the_manifest() {
    let terminal = Terminal::new();
    super::generated::hostile(
        &terminal,
        "trap",
        "{type: object, additionalProperties: false}",
    );
    let ran = Ran::of(
        terminal
            .toolhost(["test", "-q"])
            .env("GITHUB_ACTIONS", "true"),
    )
    .exits(1);
    let commands = commands(&ran);
    assert!(!commands.is_empty());
    let start = "::error file=goondan.yaml,title=x__run (valid)%3A ";
    assert!(
        commands.iter().all(|command| command.starts_with(start)),
        "{commands:#?}"
    );
}

#[test]
fn output_of_a_tool_is_never_read_as_a_workflow_command() {
    let terminal = Terminal::new();
    let forged = "x\\n::error::forged\\n  ::add-mask::e\\r::stop-commands::x\\n a ##[error]forged\\n\u{a0}::warning::z\\ny";
    let cases = format!(
        r#"- name: "in a text"
  tool: echo__say
  args: {{ text: "{forged}" }}
  expect: {{ outputAt: {{ /text: "{forged}changed" }} }}
- name: "in a value"
  tool: echo__say
  args: {{ "::error::key": ["{forged}"] }}
  expect: {{ output: {{ "::error::key": ["{forged}", 1] }} }}
- name: "::error::in a name ##[error]x"
  tool: fs__write
  args: {{ path: "{forged}", content: "::set-output name=a::b" }}
  expect: {{ error: "::error::" }}
- name: "in a file"
  tool: fs__write
  args: {{ path: a, content: "{forged}" }}
  expect: {{ files: {{ a: "{forged}\n" }} }}
- name: "in a log"
  tool: echo__context
  context: {{ message: "{forged}", turnId: "::error::a" }}
  expect: {{ log: ["::error::"] }}
"#
    );
    bundle(&terminal, &cases);
    for words in [
        &[][..],
        &["--json"],
        &["-v"],
        &["-vv"],
        &["-q"],
        &["--list"],
        &["nothing ##[error]x"],
    ] {
        let ran = in_workflow(&terminal, words);
        let commands = commands(&ran);
        let is_own = |command: &String| {
            command.starts_with("::error file=here/tests/a.yaml,line=") && !command.contains("##[")
        };
        assert!(commands.iter().all(is_own), "{words:?}: {commands:#?}");
        if ran.code == Some(1) {
            assert_eq!(commands.len(), 5, "{words:?}: {commands:#?}");
        }
    }
    // The JSON has the same values as elsewhere.
    let value = |ran: Ran| ran.json()["cases"][1]["problems"].clone();
    let elsewhere = terminal.run(["test", "--no-generated", "-q", "--json"]);
    let here = in_workflow(&terminal, &["-q", "--json"]);
    assert_eq!(value(here), value(elsewhere));
    fs::remove_dir_all(terminal.path("here/tests")).unwrap();
}

//! Which cases run, and errors before they run.

use std::fs;

use super::{bundle, cases, json, timeless};
use crate::terminal::{Ran, Terminal, examples, guest};

#[test]
fn the_examples_pass_their_cases() {
    let terminal = Terminal::new();
    let ran = Ran::of(terminal.toolhost(["test", "--json"]).arg(examples()));
    let report = ran.exits(0).json();
    assert_eq!(report["ok"], true);
    assert_eq!(report["failed"], 0);
    assert_eq!(report["passed"], report["cases"].as_array().unwrap().len());
    assert!(report["cases"].as_array().unwrap().len() >= 17);
    assert!(report["generated"]["passed"].as_u64().unwrap() > 100);
    assert_eq!(report["generated"]["failed"], serde_json::json!([]));
}

#[test]
fn without_case_files_generated_cases_run_and_a_note_explains_how_to_write_one() {
    let terminal = Terminal::new();
    bundle(&terminal, "");
    fs::remove_dir_all(terminal.path("here/tests")).unwrap();
    let ran = terminal.run(["test"]).exits(0);
    assert!(ran.stderr.contains("write tests/first.yaml"), "{ran:?}");
    assert!(ran.stdout.contains(" generated (seed 1): "), "{ran:?}");
    // Without generated cases there is nothing to run.
    terminal
        .run(["test", "--no-generated"])
        .fails(2, "goondan.yaml has no case to run");
}

#[test]
fn cases_are_listed_and_filtered_by_text() {
    let terminal = Terminal::new();
    let two =
        "- {name: first, tool: echo__say}\n- {name: second, tool: text__upper, args: {text: a}}\n";
    bundle(&terminal, two);
    let listed = terminal.run(["test", "--list", "--no-generated"]).exits(0);
    insta::assert_snapshot!(listed.stdout, @r"
    tests/a.yaml:1  first  (echo__say)
    tests/a.yaml:2  second  (text__upper)
    ");
    let all = terminal.run(["test", "--list"]).exits(0);
    assert!(
        all.stdout
            .contains("generated  text__upper (hostile): text = \"../../etc/passwd\""),
        "{all:?}"
    );
    let chosen = terminal.run(["test", "--filter", "second"]).exits(0);
    assert_eq!(timeless(&chosen.stdout), "1 case: 1 passed · [time]");
    let chosen = terminal
        .run(["test", "--filter", "text__upper", "--no-generated"])
        .exits(0);
    assert_eq!(timeless(&chosen.stdout), "1 case: 1 passed · [time]");
    terminal.run(["test", "--filter", "third"]).fails(
        2,
        "no case of goondan.yaml has 'third' in its file, name or tool",
    );
}

#[test]
fn each_repetition_of_a_case_runs_in_a_fresh_workdir() {
    let writes = "- name: many
  tool: fs__write
  args: {path: a.txt, content: hi}
  repeat: 5
  parallel: 4
  expect: {output: {path: /a.txt, size: 2, written: true}, usage: {filesMade: 1}}
";
    let report = json(writes, 0);
    assert_eq!(report["cases"][0]["runs"], 20);
    let terminal = Terminal::new();
    let ran = cases(&terminal, &writes.replace("size: 2", "size: 3")).exits(1);
    assert!(
        ran.stdout.contains("many (20 of 20 runs): output"),
        "{ran:?}"
    );
}

#[test]
fn errors_in_case_files_are_reported_with_the_line() {
    let terminal = Terminal::new();
    let ran = cases(
        &terminal,
        "- name: a\n  tool: echo__say\n  expects: {output: 1}\n",
    )
    .fails(2, "error: the case files hold 1 error");
    insta::assert_snapshot!(ran.stderr, @r"
E_CONFIG_SCHEMA_INVALID

  × unknown key 'expects'
   ╭─[tests/a.yaml:3:3]
 2 │   tool: echo__say
 3 │   expects: {output: 1}
   ·   ───┬───
   ·      ╰── [0].expects
   ╰────
  help: Did you mean 'expect'?

error: the case files hold 1 error
hint: Correct the errors above; nothing was run.
");
}

#[test]
fn unknown_tools_and_agents_of_a_case_are_reported() {
    let terminal = Terminal::new();
    let wrong = "- {name: a, tool: echo__sya}
- {name: b, tool: echo__say, context: {agentName: nobody}}
- {name: d, tool: ecco__say}
- {name: c, tool: echo__say, policy: {tools: {ecco: {readOnly: true}}}}
";
    let ran = cases(&terminal, wrong).fails(2, "error: the case files hold 4 errors");
    for says in [
        "tool echo has no 'sya': ./echo.wasm has say",
        "Did you mean 'say'?",
        "no agent of the bundle has the tool 'ecco__say'",
        "Did you mean 'echo__say'?",
        "the bundle has no agent 'nobody'; it has default",
        "Tool/ecco is not in the bundle",
    ] {
        assert!(ran.stderr.contains(says), "{says}: {ran:?}");
    }
}

#[test]
fn a_missing_component_is_a_finding_in_the_bundle() {
    let terminal = Terminal::new();
    bundle(&terminal, "- {name: a, tool: echo__say}\n");
    fs::remove_file(terminal.path("here/echo.wasm")).unwrap();
    let ran = terminal
        .run(["test"])
        .fails(2, "error: goondan.yaml holds 1 error");
    assert!(ran.stderr.contains("E_CONFIG_ENTRY_NOT_FOUND"), "{ran:?}");
    assert!(ran.stderr.contains("Build the component"), "{ran:?}");
}

#[test]
fn the_policy_of_the_run_applies_to_cases_without_a_policy() {
    let terminal = Terminal::new();
    let write = "tool: fs__write, args: {path: a, content: b}";
    bundle(
        &terminal,
        &format!(
            "- {{name: of the run, {write}, expect: {{status: error}}}}\n\
             - {{name: its own, {write}, policy: {{tools: {{fs: {{readOnly: false}}}}}}}}\n"
        ),
    );
    terminal.write("policy.yaml", "tools: {fs: {readOnly: true}}");
    terminal
        .run(["test", "--no-generated", "--policy", "../policy.yaml"])
        .exits(0);
    terminal.run(["test", "--no-generated"]).exits(1);
}

#[test]
fn a_case_can_lower_limits_but_not_raise_them() {
    let terminal = Terminal::new();
    terminal.bundle("here", &[("ask_random", &["run"])]);
    let case = |bytes: u64, limit: &str, expect: &str| {
        format!(
            "- {{name: a, tool: ask_random__run, args: {{bytes: {bytes}}}, expect: {expect}, \
             policy: {{tools: {{ask_random: {{limits: {{randomBytes: {limit}}}}}}}}}}}\n"
        )
    };
    let (refused, given) = ("{error: E_TOOL_TRAP}", "{status: ok}");
    let runs = |case: String, words: &[&str]| {
        terminal.write("here/tests/a.yaml", case);
        terminal
            .run(["test", "--no-generated"].iter().chain(words))
            .exits(0);
    };
    runs(case(2_000, "1KiB", refused), &[]);
    runs(case(100_000, "1MiB", refused), &[]);
    // A limit of the operator above the default is not exceeded either.
    terminal.write("policy.yaml", "defaults: {limits: {randomBytes: 128KiB}}");
    let operators = ["--policy", "../policy.yaml"];
    runs(case(100_000, "1MiB", given), &operators);
    runs(case(200_000, "1MiB", refused), &operators);
    runs(case(2_000, "1KiB", refused), &operators);
}

#[test]
fn a_pending_call_is_polled_unless_the_case_expects_pending() {
    let terminal = Terminal::new();
    terminal.bundle("here", &[("pending", &["run"])]);
    assert!(guest("pending").exists());
    terminal.write(
        "here/tests/a.yaml",
        "- {name: a, tool: pending__run, expect: {status: pending}}\n",
    );
    terminal.run(["test", "--no-generated"]).exits(0);
}

#[test]
fn two_bundles_in_one_directory_have_separate_cases() {
    let terminal = Terminal::new();
    bundle(&terminal, "- {name: of the first, tool: echo__say}\n");
    let manifest = fs::read_to_string(terminal.path("here/goondan.yaml")).unwrap();
    terminal.write(
        "here/other.yaml",
        manifest.replace("name: echo", "name: parrot"),
    );
    terminal.write(
        "here/tests/other/a.yaml",
        "- {name: of the other, tool: parrot__say}\n",
    );
    for (name, case) in [
        ("goondan.yaml", "of the first"),
        ("other.yaml", "of the other"),
    ] {
        let listed = terminal
            .run(["test", "--list", "--no-generated", name])
            .exits(0);
        assert_eq!(listed.stdout.lines().count(), 1, "{listed:?}");
        assert!(listed.stdout.contains(case), "{listed:?}");
    }
}

#[test]
fn no_temporary_files_are_left_behind() {
    let terminal = Terminal::new();
    let tmp = terminal.path("tmp");
    fs::create_dir(&tmp).unwrap();
    bundle(
        &terminal,
        "- {name: a, tool: fs__write, args: {path: a, content: b}}\n",
    );
    let before = terminal.names("here");
    let mut command = terminal.toolhost(["test"]);
    Ran::of(command.env("TMPDIR", &tmp)).exits(0);
    assert_eq!(terminal.names("tmp"), Vec::<String>::new());
    assert_eq!(terminal.names("here"), before);
}

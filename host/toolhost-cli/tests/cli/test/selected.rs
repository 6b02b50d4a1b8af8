//! Which cases run: the bundle and the filters among the arguments, parts of the cases, and when a run
//! ends early.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::{bundle, timeless};
use crate::terminal::Terminal;

const CASES: &str = "\
- {name: says, tool: echo__say}
- {name: shouts, tool: text__upper, args: {text: a}, expect: {output: {text: A}}}
- {name: fails, tool: text__upper, args: {text: a}, expect: {output: {text: b}}}
";

fn two_files() -> Terminal {
    let terminal = Terminal::new();
    bundle(&terminal, CASES);
    let more = "# more\n- name: says more\n  tool: echo__say\n- name: last\n  tool: echo__say\n";
    terminal.write("here/tests/b.yaml", more);
    terminal
}

/// The names of the cases that these words select.
fn selected(terminal: &Terminal, words: &[&str]) -> Vec<String> {
    let words = ["test", "--list", "--no-generated"].iter().chain(words);
    let listed = terminal.run(words).exits(0).stdout;
    let name = |line: &str| {
        let (_, rest) = line.split_once("  ").unwrap();
        rest.rsplit_once("  (").unwrap().0.to_owned()
    };
    listed.lines().map(name).collect()
}

#[test]
fn words_select_the_bundle_its_files_and_its_cases() {
    let terminal = two_files();
    let check = |words: &[&str], expected: &[&str]| {
        assert_eq!(selected(&terminal, words), expected, "{words:?}");
    };
    let all = ["says", "shouts", "fails", "says more", "last"];
    check(&[], &all);
    check(&["."], &all);
    check(&["goondan.yaml"], &all);
    check(&["upper"], &["shouts", "fails"]);
    check(&["text__upper", "last"], &["shouts", "fails", "last"]);
    check(&["tests/b.yaml"], &["says more", "last"]);
    check(&["tests/b.yaml:4"], &["last"]);
    check(
        &["tests/a.yaml:2", "tests/b.yaml:2"],
        &["shouts", "says more"],
    );
    check(
        &["tests/a.yaml", "tests/b.yaml", "says"],
        &["says", "says more"],
    );
    check(&[".", "tests/a.yaml", "upper"], &["shouts", "fails"]);
    check(&["../here", "tests/a.yaml", "upper"], &["shouts", "fails"]);
    check(&["../here/tests/a.yaml", "upper"], &["shouts", "fails"]);
    check(&["says", "--filter", "more"], &["says more"]);
}

#[test]
fn a_filter_that_matches_nothing_is_an_error_with_the_word_that_was_meant() {
    let terminal = two_files();
    let check = |words: &[&str], says: &[&str]| {
        let words = ["test", "--no-generated"].iter().chain(words);
        let ran = terminal.run(words).exits(2);
        assert_eq!(ran.stdout, "");
        for says in says {
            assert!(ran.stderr.contains(says), "{says}: {ran:?}");
        }
    };
    check(
        &["uper"],
        &[
            "no case of goondan.yaml has 'uper' in its file, name or tool, and no bundle has that path",
            "Did you mean 'upper'?",
        ],
    );
    check(
        &["upper", "shuts"],
        &["has 'shuts'", "Did you mean 'shouts'?"],
    );
    check(
        &["tests/c.yaml"],
        &["has 'tests/c.yaml'", "Did you mean 'tests/"],
    );
    check(
        &["tests/b.yaml", "upper"],
        &["no case of goondan.yaml matches all of: tests/b.yaml, upper"],
    );
    // Without a bundle in the current directory, the word is the bundle.
    fs::remove_file(terminal.path("here/goondan.yaml")).unwrap();
    check(&["uper"], &["uper"]);
}

#[test]
fn each_case_is_in_one_shard_and_its_shard_does_not_depend_on_the_path_of_the_bundle() {
    let terminal = two_files();
    let part = |bundle: &str, shard: &str| {
        let words = ["test", bundle, "--list", "--shard", shard];
        let listed = terminal.run(words).exits(0).stdout;
        let lines = listed.lines().map(|line| line.replace("../here/", ""));
        lines.collect::<Vec<_>>()
    };
    let all: BTreeSet<String> = part(".", "1/1").into_iter().collect();
    let (one, two, three) = (part(".", "1/3"), part(".", "2/3"), part(".", "3/3"));
    let parts: BTreeSet<String> = [&one, &two, &three]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    assert_eq!(parts, all);
    assert_eq!(one.len() + two.len() + three.len(), part(".", "1/1").len());
    assert!(one.len().min(two.len()).min(three.len()) > 0);
    assert_eq!(part("../here", "2/3"), two);
    // A part without cases has nothing to fail.
    let words = ["test", "last", "--no-generated", "--shard"];
    let runs = |shard: String| {
        terminal
            .run(words.into_iter().chain([shard.as_str()]))
            .exits(0)
    };
    let ran: Vec<_> = (1..=3).map(|number| runs(format!("{number}/3"))).collect();
    let passed = ran
        .iter()
        .filter(|ran| ran.stdout.starts_with("1 case: 1 passed"));
    assert_eq!(passed.count(), 1, "{ran:?}");
    let empty = ran
        .iter()
        .filter(|ran| ran.stdout.starts_with("no case in this part"));
    assert_eq!(empty.count(), 2, "{ran:?}");
    let ran = terminal.run(["test", "--shard", "4/3"]).exits(2);
    assert!(ran.stderr.contains("write K/N"), "{ran:?}");
}

#[test]
fn the_report_has_the_same_order_whatever_the_number_of_jobs() {
    let terminal = two_files();
    let names = |jobs: &str| {
        let ran = terminal.run(["test", "-q", "--json", "--jobs", jobs]);
        let report = ran.exits(1).json();
        let cases = report["cases"].as_array().unwrap().clone();
        cases
            .into_iter()
            .map(|case| case["name"].clone())
            .collect::<Vec<Value>>()
    };
    assert_eq!(names("1"), names("7"));
    terminal.run(["test", "--jobs", "0"]).exits(2);
}

#[test]
fn no_case_is_started_after_a_failure_with_fail_fast() {
    let terminal = two_files();
    let words = ["test", "--no-generated", "-q", "--fail-fast", "--jobs", "1"];
    let ran = terminal.run(words).exits(1);
    let last = timeless(ran.stdout.lines().last().unwrap());
    assert_eq!(last, "3 cases: 2 passed, 1 failed · 2 not run · [time]");
    let report = terminal
        .run(words.into_iter().chain(["--json"]))
        .exits(1)
        .json();
    assert_eq!(report["notRun"], 2, "{report:#}");
    assert_eq!(report["cases"].as_array().unwrap().len(), 3);
}

#[test]
fn every_case_has_a_line_with_its_duration_in_the_verbose_report() {
    let terminal = two_files();
    let ran = terminal.run(["test", "--no-generated", "-v"]).exits(1);
    let mut lines: Vec<String> = ran.stdout.lines().take(5).map(str::to_owned).collect();
    for line in &mut lines {
        let (before, after) = line.split_once("  tests/").unwrap();
        let (verdict, took) = before.trim_start().split_once(' ').unwrap();
        let took = took
            .trim()
            .strip_suffix(" ms")
            .unwrap_or_else(|| panic!("{line}"));
        assert!(took.parse::<u32>().is_ok(), "{line}");
        *line = format!("{verdict} tests/{after}");
    }
    assert_eq!(
        lines,
        [
            "ok tests/a.yaml:1 says",
            "ok tests/a.yaml:2 shouts",
            "FAILED tests/a.yaml:3 fails",
            "ok tests/b.yaml:2 says more",
            "ok tests/b.yaml:4 last",
        ]
    );
    // A result that took long is named without -v, too.
    let slow = "- {name: waits, tool: spin_forever__run, expect: {error: E_TOOL_TIMEOUT}, \
                policy: {defaults: {limits: {deadlineMs: 1100}}}}\n";
    terminal.bundle("here", &[("spin_forever", &["run"])]);
    fs::remove_file(terminal.path("here/tests/b.yaml")).unwrap();
    terminal.write("here/tests/a.yaml", slow);
    let ran = terminal.run(["test", "--no-generated", "-q"]).exits(0);
    let (_, times) = ran.stdout.trim_end().rsplit_once(" · ").unwrap();
    let (_, slowest) = times.split_once(" s, slowest 1.").unwrap();
    assert!(slowest.ends_with(" s: tests/a.yaml:1 waits"), "{ran:?}");
}

//! `toolhost test` on a terminal: its progress line, and the colours of its report.

use std::process::Command;

use super::{on_terminal, screen, without_notes};
use crate::terminal::Terminal;

/// A run of three cases, one after another. The second one fails, and the third one takes a while.
fn test(terminal: &Terminal, options: &[&str]) -> Command {
    let bundle = terminal.bundle("here", &[("sleep_forever", &["run"])]);
    let cases = "\
- {name: first, tool: sleep_forever__run, args: {seconds: 0}}
- {name: second, tool: sleep_forever__run, args: {seconds: 0}, expect: {output: {slept: 1}}}
- {name: third, tool: sleep_forever__run, args: {seconds: 1.2}}
";
    terminal.write("here/tests/a.yaml", cases);
    let mut test = terminal.toolhost(["test", "--no-generated", "--jobs", "1"]);
    test.arg(bundle).args(options);
    test
}

#[test]
fn cases_that_are_done_and_failed_are_counted_until_the_report() {
    let terminal = Terminal::new();
    let ran = on_terminal(&test(&terminal, &[]), "", "xterm").exits(1);
    let line = " testing: 2 of 3 cases, 1 failed, 1 s";
    let (_, after) = ran.stdout.rsplit_once(line).expect(&ran.stdout);
    assert!(!after.contains("testing: "), "{after:?}");
    assert!(after.contains("\r\u{1b}[K"), "it is erased: {after:?}");
    let left = without_notes(&screen(&ran.stdout));
    assert!(
        left.starts_with("FAIL ") && !left.contains("testing: "),
        "{left}"
    );
    // The answer in a file has no progress in it.
    let ran = on_terminal(&test(&terminal, &["--json"]), "> out", "xterm").exits(1);
    assert!(ran.stdout.contains(line), "{ran:?}");
    let report = std::fs::read_to_string(terminal.path("here/out")).unwrap();
    assert!(
        report.starts_with('{') && report.ends_with("}\n"),
        "{report}"
    );
}

#[test]
fn no_cases_are_counted_when_quiet_on_a_dumb_terminal_or_without_a_terminal() {
    let terminal = Terminal::new();
    for (options, shell, term) in [
        (&["-q"][..], "", "xterm"),
        (&[], "", "dumb"),
        (&[], "2> err", "xterm"),
    ] {
        let mut ran = on_terminal(&test(&terminal, options), shell, term).exits(1);
        if !shell.is_empty() {
            ran.stdout += &std::fs::read_to_string(terminal.path("here/err")).unwrap();
        }
        assert!(!ran.stdout.contains("testing: "), "{options:?} {ran:?}");
    }
}

#[test]
fn differences_have_colours_on_a_terminal_alone() {
    let terminal = Terminal::new();
    let (red, green) = ("\u{1b}[31m- 1\u{1b}[0m", "\u{1b}[32m+ 0.0\u{1b}[0m");
    for (options, shell, term, is_coloured) in [
        (&[][..], "", "xterm", true),
        (&[], "", "dumb", false),
        (&["--color=never"], "", "xterm", false),
        (&[], "> out", "xterm", false),
        (&["--color=always"], "> out", "xterm", true),
    ] {
        let mut ran = on_terminal(&test(&terminal, options), shell, term).exits(1);
        if !shell.is_empty() {
            ran.stdout = std::fs::read_to_string(terminal.path("here/out")).unwrap();
        }
        let found = (ran.stdout.contains(red), ran.stdout.contains(green));
        assert_eq!(found, (is_coloured, is_coloured), "{options:?} {ran:?}");
        assert!(is_coloured || !ran.stdout.contains("\u{1b}[3"), "{ran:?}");
    }
    let mut test = test(&terminal, &[]);
    let ran = on_terminal(test.env("NO_COLOR", "1"), "", "xterm").exits(1);
    assert!(!ran.stdout.contains("\u{1b}[3"), "{ran:?}");
}

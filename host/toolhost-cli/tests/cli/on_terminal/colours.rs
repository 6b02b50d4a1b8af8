//! `--color`, and the variables of the environment.

use super::on_terminal;
use crate::terminal::Terminal;

/// Whether the output of a command has colours, on a terminal or not.
fn has_colours(words: &[&str], shell: &str, variables: &[(&str, &str)]) -> bool {
    let terminal = Terminal::new();
    let mut command = terminal.toolhost(words);
    command.envs(variables.iter().copied());
    let mut ran = on_terminal(&command, shell, "xterm");
    if shell.contains("out") {
        ran.stdout += &std::fs::read_to_string(terminal.path("here/out")).unwrap();
    }
    assert!(ran.stdout.contains("toolhost"), "{ran:?}");
    ran.stdout.contains("\u{1b}[")
}

/// Errors of a command, errors of the arguments, and help. Each names toolhost.
const OUTPUTS: [&[&str]; 3] = [&["list", "toolhost"], &["lists"], &["list", "--help"]];

#[test]
fn the_option_decides_for_all_output() {
    for words in OUTPUTS {
        let with = |option: &'static str| [words, &[option]].concat();
        let never = with("--color=never");
        let forced = [("CLICOLOR_FORCE", "1")];
        assert!(!has_colours(&never, "", &forced), "{words:?}");
        let always = with("--color=always");
        let denied = [("NO_COLOR", "1")];
        assert!(has_colours(&always, "> out 2>&1", &denied), "{words:?}");
    }
}

#[test]
fn colours_are_for_terminals_unless_a_variable_decides() {
    for words in OUTPUTS {
        assert!(has_colours(words, "", &[]), "{words:?}");
        assert!(!has_colours(words, "> out 2>&1", &[]), "{words:?}");
        let denied = [("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")];
        assert!(!has_colours(words, "", &denied), "{words:?}");
        let forced = [("CLICOLOR_FORCE", "1")];
        assert!(has_colours(words, "> out 2>&1", &forced), "{words:?}");
        assert!(!has_colours(words, "", &[("TERM", "dumb")]), "{words:?}");
    }
}

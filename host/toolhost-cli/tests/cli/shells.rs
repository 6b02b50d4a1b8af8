//! `toolhost completions` and `toolhost man`.

use crate::terminal::Terminal;

/// Each command as the main help lists it.
fn commands(terminal: &Terminal) -> Vec<String> {
    let help = terminal.run(["-h"]).exits(0).stdout;
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    let names = list.lines().filter_map(|line| {
        let line = line.strip_prefix("  ")?;
        Some(line.split_once(' ')?.0.to_owned())
    });
    let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
    assert!(names.iter().any(|name| name == "completions"), "{help}");
    names
}

#[test]
fn the_completions_of_each_shell_have_every_command() {
    let terminal = Terminal::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = terminal.run(["completions", shell]).exits(0).stdout;
        for command in commands(&terminal) {
            assert!(script.contains(&command), "{shell} {command}");
        }
        assert!(script.contains("state-root"), "{shell}");
    }
    let ran = terminal.run(["completions", "tcsh"]).exits(2);
    assert!(ran.stderr.contains("possible values: bash"), "{ran:?}");
}

#[test]
fn there_is_a_man_page_for_every_command() {
    let terminal = Terminal::new();
    let ran = terminal.run(["man", "pages/new"]).exits(0);
    assert!(ran.stdout.contains("pages/new"), "{ran:?}");
    let mut expected: Vec<String> = commands(&terminal)
        .iter()
        .filter(|name| *name != "help")
        .map(|name| format!("toolhost-{name}.1"))
        .collect();
    expected.push("toolhost.1".to_owned());
    let pages = terminal.names("here/pages/new");
    for page in &expected {
        assert!(pages.contains(page), "{page}: {pages:?}");
    }
    assert!(
        pages.contains(&"toolhost-mcp-login.1".to_owned()),
        "{pages:?}"
    );
    let call = terminal.path("here/pages/new/toolhost-call.1");
    let call = std::fs::read_to_string(call).unwrap();
    for says in [
        ".TH",
        "Call a tool",
        "workdir",
        "DETAILS\n.nf\nExamples:",
        "Exit codes",
    ] {
        assert!(call.contains(says), "{says}: {call}");
    }
}

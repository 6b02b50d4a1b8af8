//! What `--help` teaches.

use crate::terminal::Terminal;

#[test]
fn the_short_help_lists_the_commands() {
    let ran = Terminal::new().run(["-h"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
Runs AI agents' tools as WASI components: each call in a fresh sandbox, with one directory and
nothing else

Usage: toolhost [OPTIONS] <COMMAND>

Commands:
  new      Make a folder with a new tool, ready to be built and tested
  build    Build the tools whose entries are source: Rust, TypeScript, JavaScript, Python
  check    Check that a bundle loads: its resources, its components, and a policy
  list     List the tools that an agent is shown
  call     Call a tool and print its ToolResult
  poll     Ask for the result of a call that is pending
  cancel   Cancel a call that is pending
  play     Play a script: agents that call tools and each other, without a model
  test     Run the cases of a bundle's tools, and those that follow from their schemas
  inspect  Show what a component serves and asks for, and whether it would load
  cache    List, verify or remove the compiled components that are kept
  help     Print this message or the help of the given subcommand(s)

Options:
      --state-root <DIR>  Where instances' workspaces and the key of the cache are kept
  -v, --verbose...        Say more: what tools print and log at debug level; twice for the host's
                          own steps
  -q, --quiet             Say nothing beside errors
  -h, --help              Print help (see more with '--help')
  -V, --version           Print version
");
}

#[test]
fn every_command_has_examples_and_exit_codes() {
    let terminal = Terminal::new();
    for command in [
        "new", "build", "check", "list", "call", "poll", "cancel", "play", "test", "inspect",
        "cache",
    ] {
        let help = terminal.run([command, "--help"]).exits(0).stdout;
        assert!(
            help.contains(&format!("Usage: toolhost {command} [OPTIONS]")),
            "{help}"
        );
        assert!(
            help.contains("\nExamples:\n") && help.contains("Exit codes: "),
            "{help}"
        );
    }
    let help = terminal.run(["--help"]).exits(0).stdout;
    for says in [
        "Exit codes:\n",
        "Places:\n",
        "TOOLHOST_STATE_ROOT",
        "NO_COLOR",
    ] {
        assert!(help.contains(says), "{help}");
    }
}

#[test]
fn wrong_usage_is_told_on_stderr() {
    let terminal = Terminal::new();
    for words in [
        &[][..],
        &["frob"],
        &["call"],
        &["call", "a", "b", "c"],
        &["list", "--nope"],
        &["-q", "-v", "check"],
    ] {
        let ran = terminal.run(words).exits(2);
        assert_eq!(ran.stdout, "", "{words:?}");
        assert!(ran.stderr.contains("Usage: toolhost"), "{ran:?}");
    }
}

#[test]
fn the_version_is_one_line() {
    let ran = Terminal::new().run(["--version"]).exits(0);
    assert_eq!(
        ran.stdout,
        format!("toolhost {}\n", env!("CARGO_PKG_VERSION"))
    );
}

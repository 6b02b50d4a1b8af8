//! The texts of `--help`.

use crate::terminal::Terminal;

#[test]
fn the_short_help_lists_the_commands() {
    let ran = Terminal::new().run(["-h"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
Runs AI agents' tools as WASI components: each call in a fresh sandbox, with one directory and
nothing else

Usage: toolhost [OPTIONS] <COMMAND>

Commands:
  new          Create a folder with a new tool, ready to build and test
  build        Build the tools whose entries are source: Rust, TypeScript, JavaScript, Python
  dev          Build, test and serve the tools of a bundle over MCP, again after each change
  check        Check that a bundle loads: its resources, its components, and a policy
  list         List the tools of an agent
  search       Search the tools of an agent
  docs         Write a page about the tools of a bundle: HTML without scripts
  call         Call a tool and print its ToolResult
  calls        List the calls that were made, or show one
  watch        Show on a page what tools do, and decide there
  poll         Poll a pending call for its result
  cancel       Cancel a pending call
  replay       Replay a recorded call, or compare two recordings
  undo         Undo a call that was a transaction: restore the files that it changed
  approvals    List the calls that wait for a person's consent, or show one
  approve      Let a call do what it waits for
  deny         Refuse what a call waits for
  instances    List the instances that have workspaces, or remove one
  budgets      Print what calls have used of the policy's budgets
  backup       Copy the state root while processes use it
  script       Run a program over the tools of a bundle, in JavaScript or Python
  play         Play a script: agents that call tools and each other, without a model
  rpc          Serve the tools to a program in another language: JSON-RPC over stdio or a Unix
               socket
  serve        Serve the tools to MCP clients: over stdin and stdout, or HTTP
  worker       Run the calls that hosts send to this machine
  workers      List the workers that live, or tell one to end
  mcp          Authorize this host at MCP servers that require OAuth
  auth         Grant tools access to the accounts of users: OAuth
  test         Run the test cases of a bundle's tools, and cases generated from their schemas
  lock         Write the lock of a bundle, or compare its tools with it
  publish      Publish a tool of a bundle in an OCI registry
  add          Add a tool of an OCI registry to a bundle, by digest
  update       Update the digests of a bundle's packages to those that their tags have now
  vendor       Copy the packages of a bundle beside its manifest
  sign         Sign a package of a registry, or make a key
  verify       Verify the signatures of a bundle's packages, or of one package
  inspect      Show the exports and imports of a component, and whether it would load
  wit          Write the contract as WIT, for tools in any language
  component    Make a component of a core module, such as C and Go compile to
  cache        List, verify or remove cached components
  doctor       Examine this machine: compilers, kits, the kernel, the directories, the network, the
               terminal
  completions  Print a script that completes commands and options in a shell
  man          Write a man page for each command
  help         Print this message or the help of the given subcommand(s)

Options:
      --state-root <DIR>  Directory of instances' workspaces and of the cache key
      --ca-file <FILE>    PEM file of root certificates to trust for HTTPS, beside Mozilla's
  -v, --verbose...        Print more: what tools print and log at debug level; twice for the host's
                          own steps
  -q, --quiet             Print nothing but errors
      --color <WHEN>      When to print colours: auto, always or never [default: auto]
  -h, --help              Print help (see more with '--help')
  -V, --version           Print version
");
}

#[test]
fn every_command_has_examples_and_exit_codes() {
    let terminal = Terminal::new();
    for command in [
        "new",
        "build",
        "check",
        "list",
        "search",
        "docs",
        "call",
        "calls",
        "poll",
        "cancel",
        "replay",
        "undo",
        "instances",
        "budgets",
        "backup",
        "play",
        "rpc",
        "serve",
        "mcp",
        "auth",
        "test",
        "lock",
        "publish",
        "add",
        "update",
        "vendor",
        "sign",
        "verify",
        "inspect",
        "cache",
        "doctor",
        "completions",
        "man",
        "wit",
        "component",
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
        "Directories:\n",
        "TOOLHOST_STATE_ROOT",
        "NO_COLOR",
    ] {
        assert!(help.contains(says), "{help}");
    }
}

#[test]
fn wrong_usage_is_reported_on_stderr() {
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

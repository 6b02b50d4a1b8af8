//! The commands of `cargo xtask`.

use anyhow::{Result, bail};

use crate::workspace::Workspace;
use crate::{checks, guests, wasip2};

const HELP: &str = "\
Set-up and build commands that need only cargo.

  cargo xtask setup             gets a rustc that compiles to wasm32-wasip2; quick when it is there
  cargo xtask guests            builds every guest to target/guests/<name>.wasm (runs setup first)
  cargo xtask demo              tells the story in a terminal page, on the guests just built
  cargo xtask test [-- ARGS]    runs every test (cargo-nextest when installed, else cargo test)
  cargo xtask lint              checks format and clippy as CI does
  cargo xtask bench [-- ARGS]   measures

New here? `cargo xtask demo`, then `cargo xtask test`. ARGS go to the test runner or benchmark.
The same names work with `just`.";

/// One command with its arguments.
#[derive(Debug, PartialEq)]
pub(crate) enum Task {
    Help,
    Setup,
    Guests,
    Demo(Vec<String>),
    Test(Vec<String>),
    Lint,
    Bench(Vec<String>),
}

impl Task {
    /// Parses the words after `cargo xtask`.
    ///
    /// # Errors
    /// An unknown command, or arguments for a command that takes none.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Self> {
        let mut words = words.peekable();
        let Some(name) = words.next() else {
            return Ok(Self::Help);
        };
        // Both `test -- ARGS` and `test ARGS` mean the same.
        words.next_if(|word| word == "--");
        let rest: Vec<String> = words.collect();
        if rest.iter().any(|word| word == "--help" || word == "-h") && rest.len() == 1 {
            return Ok(Self::Help);
        }
        let task = match name.as_str() {
            "help" | "--help" | "-h" => Self::Help,
            "setup" => Self::Setup,
            "guests" => Self::Guests,
            "demo" => return Ok(Self::Demo(rest)),
            "test" => return Ok(Self::Test(rest)),
            "lint" => Self::Lint,
            "bench" => return Ok(Self::Bench(rest)),
            unknown => bail!("no command `{unknown}`: `cargo xtask --help` lists them"),
        };
        if let Some(word) = rest.first() {
            bail!("`{name}` takes no arguments, but got `{word}`");
        }
        Ok(task)
    }

    /// Runs the command to its end.
    ///
    /// # Errors
    /// The first step that failed, named.
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        match self {
            Self::Help => {
                println!("{HELP}");
                Ok(())
            }
            Self::Setup => wasip2::setup(workspace).map(drop),
            Self::Guests => guests::build(workspace),
            Self::Demo(args) => {
                guests::build(workspace)?;
                checks::demo(workspace, args)
            }
            Self::Test(args) => {
                guests::build(workspace)?;
                checks::test(workspace, args)
            }
            Self::Lint => checks::lint(workspace),
            Self::Bench(args) => {
                guests::build(workspace)?;
                checks::bench(workspace, args)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Task;

    fn parse(line: &str) -> Option<Task> {
        Task::parse(line.split_whitespace().map(String::from)).ok()
    }

    #[test]
    fn parses_commands_and_refuses_the_rest() {
        let words = |text: &str| text.split_whitespace().map(String::from).collect();
        assert_eq!(parse(""), Some(Task::Help));
        assert_eq!(parse("test --help"), Some(Task::Help));
        assert_eq!(parse("guests"), Some(Task::Guests));
        assert_eq!(parse("test -- a -- b"), Some(Task::Test(words("a -- b"))));
        assert_eq!(parse("test a"), Some(Task::Test(words("a"))));
        assert_eq!(parse("lint a"), None);
        assert_eq!(parse("build"), None);
    }
}

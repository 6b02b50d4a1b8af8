//! The commands of `cargo xtask`.

use anyhow::{Context as _, Result, bail};

use crate::api::{self, ApiRun};
use crate::dist::{self, DistRun};
use crate::fuzz::{self, FuzzRun};
use crate::mutants::{self, MutantsRun};
use crate::package::{self, PackageRun};
use crate::workspace::Workspace;
use crate::{
    checks, conformance, cross, demo, deny, guests, instructions, mcp_clients, peers, wasip2,
};

const HELP: &str = "\
Set-up and build commands that need only cargo.

  cargo xtask setup             installs a rustc that compiles to wasm32-wasip2, if none is there
  cargo xtask guests            builds every guest to target/guests/<name>.wasm (runs setup first)
  cargo xtask demo              builds a few tools, calls them, and prints what the sandbox does
  cargo xtask test [-- ARGS]    runs every test (cargo-nextest when installed, else cargo test), and
                                without ARGS those of the kits in guest-sdk
                                and of the clients, and `instructions`
  cargo xtask mcp-clients       installs MCP clients of others and the conformance suite, in target/, and
                                tests `toolhost serve` with the clients
  cargo xtask conformance       tests `toolhost serve` and the client of MCP servers with the conformance
                                suite of MCP, both revisions
  cargo xtask lint              checks format and clippy, and runs `api` and `package`
  cargo xtask api [--write|--release]
                                checks the documentation of the published crates, and compares their
                                public API with docs/api and with that of the last release; or writes
                                docs/api, or both
  cargo xtask package [--verify]
                                packages the published crates and checks what the packages contain; or
                                compiles them too, which takes minutes
  cargo xtask dist [--binary PATH]
                                builds the packages of a release in target/dist (tar.gz, wheel, npm, deb,
                                checksums, SBOM, provenance), and installs each in an empty folder; or
                                packages a binary that was built
  cargo xtask cross             builds the host for aarch64 with zig and runs tests of the sandbox in an
                                emulator, checks it for macOS, and tests the portable way of
                                what only Linux has; installs all it needs in target/
  cargo xtask deny              checks the dependencies' licences, sources and advisories
  cargo xtask bench [-- ARGS]   measures, in the release profile
  cargo xtask bench peers [--write]
                                measures the same work in Bun, Node, CPython, Extism, jaq, the engine alone,
                                and a program over tools in code modes of npm and PyPI, installed in
                                target/; writes docs/performance.md and its plots
  cargo xtask bench search      measures the search of tools on the functions and requests of BFCL, which it
                                fetches from PyPI into target/
  cargo xtask instructions [--write]
                                counts the instructions of the steps of a call with valgrind, which it
                                unpacks into target/, and compares them with
                                benches/instructions.txt, or writes that file
  cargo xtask base-tools [--write]
                                measures the base tools: size, load, call; writes docs/base-tools.md
  cargo xtask fuzz [--minutes N] [TARGET…]
                                fuzzes the code that reads untrusted input, each target for a minute;
                                see fuzz/README.md
  cargo xtask mutants [--iterate] [MODULE…]
                                changes the code that decides security, one place at a time, and fails if
                                no unit test fails; .cargo/mutants.toml lists the exceptions; --iterate
                                leaves out what failed in the last run
  cargo xtask soak [--minutes N]  calls tools of every kind (default: 1 minute); fails if memory,
                                files or threads grow, or a result is wrong

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
    McpClients,
    Conformance,
    Lint,
    Api(ApiRun),
    Package(PackageRun),
    Dist(DistRun),
    Cross,
    Deny,
    Bench(Vec<String>),
    Instructions(Vec<String>),
    BaseTools(Vec<String>),
    Fuzz(FuzzRun),
    Mutants(MutantsRun),
    Soak { minutes: u32 },
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
            "mcp-clients" => Self::McpClients,
            "conformance" => Self::Conformance,
            "lint" => Self::Lint,
            "cross" => Self::Cross,
            "deny" => Self::Deny,
            "api" => return ApiRun::parse(&rest).map(Self::Api),
            "package" => return PackageRun::parse(&rest).map(Self::Package),
            "dist" => return DistRun::parse(&rest).map(Self::Dist),
            "bench" => return Ok(Self::Bench(rest)),
            "instructions" if rest.iter().all(|word| word == "--write") => {
                return Ok(Self::Instructions(rest));
            }
            "instructions" => bail!("`instructions` takes `--write` and nothing else"),
            "base-tools" if rest.iter().all(|word| word == "--write") => {
                return Ok(Self::BaseTools(rest));
            }
            "base-tools" => bail!("`base-tools` takes `--write` and nothing else"),
            "fuzz" => return FuzzRun::parse(&rest).map(Self::Fuzz),
            "mutants" => return MutantsRun::parse(&rest).map(Self::Mutants),
            "soak" => {
                let minutes = minutes(&rest)?;
                return Ok(Self::Soak { minutes });
            }
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
    /// The first step that failed.
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        match self {
            Self::Help => {
                println!("{HELP}");
                Ok(())
            }
            Self::Setup => wasip2::setup(workspace).map(drop),
            Self::Guests => guests::build(workspace),
            Self::Demo(args) => demo::run(workspace, args),
            Self::Test(args) => {
                guests::build(workspace)?;
                checks::test(workspace, args)
            }
            Self::McpClients => {
                mcp_clients::install(workspace)?;
                guests::build(workspace)?;
                mcp_clients::test(workspace)
            }
            Self::Conformance => {
                guests::build(workspace)?;
                conformance::test(workspace)
            }
            Self::Lint => checks::lint(workspace),
            Self::Package(run) => package::run(workspace, *run),
            Self::Api(run) => api::run(workspace, *run),
            Self::Dist(run) => {
                guests::build(workspace)?;
                dist::run(workspace, run)
            }
            Self::Cross => cross::run(workspace),
            Self::Deny => deny::check(workspace),
            Self::Bench(args) => {
                if args.first().is_some_and(|word| word == "peers") {
                    peers::install(workspace)?;
                }
                // The search of tools calls none.
                if args.first().is_none_or(|word| word != "search") {
                    guests::build(workspace)?;
                }
                checks::bench(workspace, args)
            }
            Self::Instructions(args) => instructions::run(workspace, args),
            Self::BaseTools(args) => {
                guests::build(workspace)?;
                checks::base_tools(workspace, args)
            }
            Self::Fuzz(run) => fuzz::run(workspace, run),
            Self::Mutants(run) => mutants::run(workspace, run),
            Self::Soak { minutes } => {
                guests::build(workspace)?;
                checks::soak(workspace, *minutes)
            }
        }
    }
}

/// Parses `[--minutes N]`.
fn minutes(words: &[String]) -> Result<u32> {
    match words {
        [] => Ok(1),
        [flag, number] if flag == "--minutes" => {
            let number = number.parse().ok().filter(|minutes| *minutes > 0);
            number.context("`--minutes` takes a positive number")
        }
        [word, ..] => bail!("`soak` takes `--minutes N`, but got `{word}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiRun, PackageRun, Task};

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
        let peers = Task::Bench(words("peers --write"));
        assert_eq!(parse("bench peers --write"), Some(peers));
        assert_eq!(parse("test a"), Some(Task::Test(words("a"))));
        assert!(matches!(parse("fuzz bundle"), Some(Task::Fuzz(_))));
        assert_eq!(parse("fuzz --minutes"), None);
        assert!(matches!(parse("mutants lock"), Some(Task::Mutants(_))));
        assert_eq!(parse("mutants --all"), None);
        assert_eq!(parse("mcp-clients"), Some(Task::McpClients));
        assert_eq!(parse("conformance"), Some(Task::Conformance));
        assert_eq!(parse("lint a"), None);
        let write = Some(Task::BaseTools(words("--write")));
        assert_eq!(parse("base-tools --write"), write);
        assert_eq!(parse("base-tools --wrote"), None);
        let write = Some(Task::Instructions(words("--write")));
        assert_eq!(parse("instructions --write"), write);
        assert_eq!(parse("instructions write"), None);
        assert_eq!(parse("deny"), Some(Task::Deny));
        assert_eq!(parse("api"), Some(Task::Api(ApiRun::Check)));
        assert_eq!(parse("api --write"), Some(Task::Api(ApiRun::Write)));
        assert_eq!(parse("api write"), None);
        let verify = Some(Task::Package(PackageRun::Verify));
        assert_eq!(parse("package --verify"), verify);
        assert_eq!(parse("build"), None);
        assert_eq!(parse("soak"), Some(Task::Soak { minutes: 1 }));
        assert_eq!(parse("soak --minutes 10"), Some(Task::Soak { minutes: 10 }));
        for wrong in [
            "soak 10",
            "soak --minutes",
            "soak --minutes 0",
            "soak --minutes x",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}

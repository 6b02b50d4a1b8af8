//! Changes the code that decides security, one place at a time, and runs the tests of its crate: they must fail.
//!
//! `.cargo/mutants.toml` lists the changes that make no other program, each with its reason.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::tool;
use crate::workspace::Workspace;

/// The release whose names of changes `.cargo/mutants.toml` has.
const CARGO_MUTANTS: tool::Tool = tool::Tool {
    name: "cargo-mutants",
    version: "27.1.0",
};

/// Files that decide what a tool may do, and the package whose unit tests hold them.
#[derive(Debug, PartialEq)]
struct Module {
    name: &'static str,
    package: &'static str,
    /// Beneath the package's `src`: files, and folders with all files in them.
    paths: &'static [&'static str],
}

const MODULES: [Module; 9] = [
    Module {
        name: "protected",
        package: "toolhost-contract",
        paths: &["protected.rs"],
    },
    Module {
        name: "names",
        package: "toolhost-contract",
        paths: &["name.rs"],
    },
    Module {
        name: "redaction",
        package: "toolhost-contract",
        paths: &["redact.rs", "redact", "text/cuts.rs"],
    },
    Module {
        name: "http",
        package: "toolhost-contract",
        paths: &["http/rule.rs", "http/origin.rs"],
    },
    Module {
        name: "addresses",
        package: "toolhost-contract",
        paths: &["http/address.rs"],
    },
    Module {
        name: "credentials",
        package: "toolhost-contract",
        paths: &["http/credential.rs"],
    },
    Module {
        name: "policy",
        package: "toolhost-manifest",
        paths: &["policy.rs", "policy"],
    },
    Module {
        name: "lock",
        package: "toolhost-manifest",
        paths: &["lock.rs", "lock"],
    },
    Module {
        name: "files",
        package: "toolhost-files",
        paths: &[
            "call/modes.rs",
            "workdir/tree_path.rs",
            "workdir/protected.rs",
            "workdir/staging/plan.rs",
            "workdir/staging/plan_text.rs",
            "workdir/staging/stamp.rs",
        ],
    },
];

/// Which modules to change.
#[derive(Debug, PartialEq)]
pub(crate) struct MutantsRun {
    /// Whether to leave out the changes that tests saw in the last run.
    iterate: bool,
    modules: Vec<&'static Module>,
}

impl MutantsRun {
    /// Parses the words after `cargo xtask mutants`: `[--iterate] [MODULE…]`. The default is all modules.
    ///
    /// # Errors
    /// An unknown module.
    pub(crate) fn parse(words: &[String]) -> Result<Self> {
        let names = || MODULES.iter().map(|module| module.name);
        let module = |word: &String| {
            let module = MODULES.iter().find(|module| module.name == word);
            module.with_context(|| {
                let names = names().collect::<Vec<_>>().join(", ");
                format!("no module `{word}`: there are {names}")
            })
        };
        let (options, names_of): (Vec<_>, Vec<_>) =
            words.iter().partition(|word| *word == "--iterate");
        let modules: Vec<_> = names_of.into_iter().map(module).collect::<Result<_>>()?;
        Ok(Self {
            iterate: !options.is_empty(),
            modules: if modules.is_empty() {
                MODULES.iter().collect()
            } else {
                modules
            },
        })
    }
}

/// Runs the tests of each module with each change, and prints how many changes no test saw.
///
/// # Errors
/// A test fails without a change, or no test fails with one.
pub(crate) fn run(workspace: &Workspace, run: &MutantsRun) -> Result<()> {
    let program = CARGO_MUTANTS.find_or_install(workspace)?;
    let mut survivors = 0;
    for module in &run.modules {
        let outcome = module.run(&program, workspace, run)?;
        println!("mutants: {}: {}", module.name, outcome.line());
        survivors += outcome.missed;
    }
    if survivors > 0 {
        bail!(
            "no test fails with {survivors} of the changes: write one, or list the change with its reason in .cargo/mutants.toml"
        );
    }
    Ok(())
}

/// How many changes there were.
struct Outcome {
    seen: usize,
    /// A test did not end.
    endless: usize,
    missed: usize,
    /// The code does not compile.
    unviable: usize,
    /// They were seen or did not compile in an earlier run.
    left_out: usize,
}

impl Outcome {
    fn read(dir: &Path) -> Result<Self> {
        let dir = dir.join("mutants.out");
        let count = |list: &str| {
            let path = dir.join(list);
            let text = fs::read_to_string(&path);
            let text = text.with_context(|| format!("cannot read {}", path.display()))?;
            anyhow::Ok(text.lines().count())
        };
        Ok(Self {
            seen: count("caught.txt")?,
            endless: count("timeout.txt")?,
            missed: count("missed.txt")?,
            unviable: count("unviable.txt")?,
            // Written with `--iterate` only.
            left_out: count("previously_caught.txt").unwrap_or_default(),
        })
    }

    fn line(&self) -> String {
        format!(
            "{} changes seen by tests, {} endless, {} not seen; {} do not compile, {} left out",
            self.seen, self.endless, self.missed, self.unviable, self.left_out
        )
    }
}

impl Module {
    /// Returns the patterns of its files, as `--file` takes them.
    fn patterns(&self) -> impl Iterator<Item = String> {
        self.paths.iter().map(|path| {
            let all = if path.ends_with(".rs") { "" } else { "/**" };
            format!("host/{}/src/{path}{all}", self.package)
        })
    }

    fn run(&self, program: &Path, workspace: &Workspace, run: &MutantsRun) -> Result<Outcome> {
        let dir = workspace.target().join("mutants");
        let output = dir.join(self.name);
        fs::create_dir_all(&output).with_context(|| format!("cannot make {}", output.display()))?;
        let mut command = Command::new(program);
        command
            .current_dir(workspace.root())
            .args(["mutants", "--no-shuffle", "--jobs", "1"])
            .args(["--package", self.package])
            .args(self.patterns().flat_map(|it| ["--file".to_owned(), it]))
            // A busy machine is slow, and few changes make a test endless.
            .args(["--minimum-test-timeout", "60"])
            // A change may leave a name unused: a lint would hide that no test sees it.
            .args(["--cap-lints", "true"])
            .args(run.iterate.then_some("--iterate"))
            .args(["--cargo-arg", "--lib", "--output"])
            .arg(&output)
            // The sources are copied; what they depend on is compiled once, for all runs.
            .env("CARGO_TARGET_DIR", dir.join("build"))
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            // Less is compiled again after a change.
            .env("CARGO_PROFILE_DEV_CODEGEN_UNITS", "256");
        let status = command
            .status()
            .with_context(|| format!("cannot start {}", program.display()))?;
        match status.code() {
            // All seen; some not seen; some endless.
            Some(0 | 2 | 3) => Outcome::read(&output),
            _ => bail!("cargo-mutants failed ({status}): see {}", output.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MODULES, MutantsRun};
    use crate::workspace::Workspace;

    fn parse(line: &str) -> Option<Vec<&'static str>> {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        let run = MutantsRun::parse(&words).ok()?;
        Some(run.modules.iter().map(|module| module.name).collect())
    }

    #[test]
    fn parses_modules_and_refuses_others() {
        assert_eq!(parse("lock names"), Some(vec!["lock", "names"]));
        assert_eq!(parse("").map(|all| all.len()), Some(MODULES.len()));
        assert_eq!(parse("--iterate lock"), Some(vec!["lock"]));
        assert_eq!(parse("lock nothing"), None);
    }

    #[test]
    fn every_module_is_there() {
        for module in &MODULES {
            let src = Workspace::find().root().join("host").join(module.package);
            for path in module.paths {
                assert!(
                    src.join("src").join(path).exists(),
                    "{}: {path}",
                    module.name
                );
            }
        }
    }
}

//! Builds the examples in TypeScript and Python, and tests the kits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::child;
use crate::workspace::Workspace;

/// The requirements of a kit's examples and tests, besides the wasm target.
struct Needs {
    /// Folder of the language, in `guest-examples` and `guest-sdk`.
    language: &'static str,
    /// A program, and arguments with which it exits with 0 if it is recent enough.
    program: &'static str,
    check: &'static [&'static str],
    /// The requirement in words.
    missing: &'static str,
    /// Runs the kit's own tests.
    test: fn(&Workspace) -> Result<()>,
}

const NEEDS: [Needs; 2] = [
    Needs {
        language: "typescript",
        program: "node",
        check: &[
            "-e",
            "process.exit(Number.parseInt(process.versions.node) < 20 ? 1 : 0)",
        ],
        missing: "Node 20 or newer",
        test: test_typescript,
    },
    Needs {
        language: "python",
        program: "python3",
        check: &[
            "-c",
            "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))",
        ],
        missing: "Python 3.10 or newer, with venv",
        test: test_python,
    },
];

impl Needs {
    fn are_met(&self) -> bool {
        child::works(Command::new(self.program).args(self.check))
    }
}

/// Returns what has to be installed for a language, if it is missing.
pub(crate) fn missing(language: &str) -> Option<&'static str> {
    let needs = NEEDS.iter().find(|needs| needs.language == language)?;
    (!needs.are_met()).then_some(needs.missing)
}

/// Builds the examples in TypeScript and Python with `toolhost build`. Prints which are not built because
/// a language is not installed.
pub(crate) fn build_examples(workspace: &Workspace) -> Result<()> {
    let mut program = None;
    for needs in &NEEDS {
        let bundles = bundles(&workspace.examples().join(needs.language))?;
        if bundles.is_empty() {
            continue;
        }
        if !needs.are_met() {
            println!(
                "guests: the examples in {} are NOT built: install {}",
                needs.language, needs.missing
            );
            continue;
        }
        let program = match &program {
            Some(program) => program,
            None => program.insert(workspace.built("toolhost-cli", "toolhost")?),
        };
        for bundle in bundles {
            child::run(
                in_own_cache(Command::new(program), workspace)
                    .arg("build")
                    .arg(bundle),
            )?;
        }
    }
    Ok(())
}

/// Runs the tests of the kits. Prints which are not run because a language is not installed.
pub(crate) fn test(workspace: &Workspace) -> Result<()> {
    // Compiled for this machine, as authors test their handlers.
    let mut cargo = child::guest_cargo(&workspace.sdk("rust"));
    let target_dir = workspace.root().join("target/guests-build/sdk");
    child::run(
        cargo
            .args(["test", "--quiet", "--target-dir"])
            .arg(target_dir),
    )?;
    for needs in &NEEDS {
        if !needs.are_met() {
            let (language, missing) = (needs.language, needs.missing);
            println!("test: the kit for {language} is NOT tested: install {missing}");
            continue;
        }
        let tested = (needs.test)(workspace);
        tested.with_context(|| format!("the kit for {}", needs.language))?;
        test_examples(workspace, needs.language)?;
    }
    Ok(())
}

/// Runs the cases of the examples in a language.
fn test_examples(workspace: &Workspace, language: &str) -> Result<()> {
    let program = workspace.built("toolhost-cli", "toolhost")?;
    for bundle in bundles(&workspace.examples().join(language))? {
        let mut test = in_own_cache(Command::new(&program), workspace);
        child::run(test.arg("test").arg(bundle))?;
    }
    Ok(())
}

fn test_typescript(workspace: &Workspace) -> Result<()> {
    let kit = workspace.sdk("typescript");
    let build = kit.join("build");
    install_npm_packages(&build)?;
    let mut node = in_own_cache(Command::new("node"), workspace);
    let spec = workspace
        .root()
        .join("tests/fixtures/tool-spec-v2-examples.md");
    node.args(["--test", "test/"])
        .current_dir(&kit)
        .env("TOOLHOST", workspace.built("toolhost-cli", "toolhost")?)
        .env("TOOLHOST_SPEC", spec);
    child::run(&mut node)
}

/// Installs the packages of a lock file, unless they are installed.
pub(crate) fn install_npm_packages(folder: &Path) -> Result<()> {
    if is_older(
        &folder.join("node_modules/.package-lock.json"),
        &folder.join("package-lock.json"),
    ) {
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        child::run(npm.current_dir(folder))?;
    }
    Ok(())
}

fn test_python(workspace: &Workspace) -> Result<()> {
    let kit = workspace.sdk("python");
    let venv = workspace.root().join("target/guests-build/python");
    let python = venv.join("bin/python");
    let requirements = kit.join("requirements.txt");
    let installed = venv.join("installed");
    if is_older(&installed, &requirements) {
        child::run(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&venv),
        )?;
        let mut pip = Command::new(&python);
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args(["--require-hashes", "--only-binary=:all:", "-r"]);
        child::run(pip.arg(&requirements))?;
        fs::write(&installed, "")?;
    }
    let mut tests = Command::new(&python);
    tests
        .args(["-m", "unittest", "discover", "-s", "test"])
        .current_dir(&kit)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("TOOLHOST", workspace.built("toolhost-cli", "toolhost")?);
    child::run(&mut tests)
}

/// Uses another cache than the user's.
pub(crate) fn in_own_cache(mut command: Command, workspace: &Workspace) -> Command {
    let own = workspace.root().join("target/guests-build");
    command
        .env("XDG_CACHE_HOME", own.join("cache"))
        .env("XDG_STATE_HOME", own.join("state"));
    command
}

/// Returns the folders with a manifest, sorted.
fn bundles(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut bundles = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry?.path();
        if path.join("goondan.yaml").is_file() {
            bundles.push(path);
        }
    }
    bundles.sort();
    Ok(bundles)
}

/// Returns whether a file is missing, or older than its source.
fn is_older(made: &Path, of: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|found| found.modified());
    match (time(made), time(of)) {
        (Ok(made), Ok(of)) => made < of,
        _ => true,
    }
}

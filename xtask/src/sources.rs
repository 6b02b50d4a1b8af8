//! Builds the examples in TypeScript and Python, and tests the kits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, anyhow};

use crate::workspace::Workspace;
use crate::{child, packages};

/// The requirements of a kit's examples and tests, besides the wasm target.
struct Needs {
    /// Folder of the language, in `guest-examples` and `guest-sdk`.
    language: &'static str,
    /// Returns the requirement in words, if it is not met.
    missing: fn() -> Option<&'static str>,
    /// Runs the kit's own tests.
    test: fn(&Workspace) -> Result<()>,
}

const NEEDS: [Needs; 2] = [
    Needs {
        language: "typescript",
        missing: packages::missing_npm,
        test: test_typescript,
    },
    Needs {
        language: "python",
        missing: packages::missing_python,
        test: test_python,
    },
];

/// Returns what has to be installed for a language, if it is missing.
pub(crate) fn missing(language: &str) -> Option<&'static str> {
    let needs = NEEDS.iter().find(|needs| needs.language == language)?;
    (needs.missing)()
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
        if let Some(missing) = (needs.missing)() {
            let language = needs.language;
            println!("guests: the examples in {language} are NOT built: install {missing}");
            continue;
        }
        let program = match &program {
            Some(program) => program,
            None => program.insert(workspace.built("toolhost-cli", "toolhost")?),
        };
        for bundle in bundles {
            if bundle.join("package-lock.json").is_file() {
                packages::install_npm(&bundle)?;
            }
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
    let target_dir = workspace.root().join("target/guests-build/sdk");
    for folder in ["", "macros"] {
        let mut cargo = child::guest_cargo(&workspace.sdk("rust").join(folder));
        child::run(
            cargo
                .args(["test", "--quiet", "--target-dir"])
                .arg(&target_dir),
        )?;
    }
    // Guests whose functions are tested without a component.
    for (folder, package) in [
        (workspace.examples(), "file-system"),
        (workspace.root().join("tests/guests"), "typed_tools"),
    ] {
        let mut cargo = child::guest_cargo(&folder);
        child::run(
            cargo
                .args(["test", "--quiet", "--package", package, "--target-dir"])
                .arg(&target_dir),
        )?;
    }
    let mut kits = Vec::new();
    for needs in &NEEDS {
        match (needs.missing)() {
            Some(missing) => {
                let language = needs.language;
                println!("test: the kit for {language} is NOT tested: install {missing}");
            }
            None => kits.push(needs),
        }
    }
    // At the same time: each uses one core for most of its time.
    std::thread::scope(|scope| {
        let test = |needs: &'static Needs| {
            let tested = (needs.test)(workspace);
            tested.with_context(|| format!("the kit for {}", needs.language))
        };
        let running = kits.iter().map(|needs| scope.spawn(move || test(needs)));
        let running: Vec<_> = running.collect();
        running.into_iter().try_for_each(|kit| {
            kit.join()
                .unwrap_or_else(|_| Err(anyhow!("the test of a kit panicked")))
        })
    })?;
    kits.iter()
        .try_for_each(|needs| test_examples(workspace, needs.language))
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
    packages::install_npm(&build)?;
    let mut node = in_own_cache(Command::new("node"), workspace);
    let spec = workspace
        .root()
        .join("tests/fixtures/tool-spec-v2-examples.md");
    // Given the folder, node would run all modules in it: those of the packages, too.
    let tests = fs::read_dir(kit.join("test")).context("the tests of the kit cannot be listed")?;
    let tests = tests.flatten().map(|entry| entry.path());
    let tests = tests.filter(|path| path.to_string_lossy().ends_with(".test.mjs"));
    node.arg("--test")
        .args(tests)
        .current_dir(&kit)
        .env("TOOLHOST", workspace.built("toolhost-cli", "toolhost")?)
        .env("TOOLHOST_SPEC", spec);
    child::run_apart(&mut node)
}

fn test_python(workspace: &Workspace) -> Result<()> {
    let kit = workspace.sdk("python");
    let venv = workspace.root().join("target/guests-build/python");
    let python = packages::install_venv(&kit.join("requirements.txt"), &venv)?;
    let mut tests = Command::new(&python);
    tests
        .args(["-m", "unittest", "discover", "-s", "test"])
        .current_dir(&kit)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("TOOLHOST", workspace.built("toolhost-cli", "toolhost")?);
    child::run_apart(&mut tests)
}

/// Makes the base of tools in Python that have an import, unless it is there.
pub(crate) fn make_base(workspace: &Workspace, import: &str) -> Result<()> {
    let tool = workspace.target().join("dist-bases");
    fs::create_dir_all(&tool)?;
    let manifest =
        "{apiVersion: goondan.ai/v1, kind: Tool, metadata: {name: any}, spec: {entry: ./tool.py}}";
    fs::write(tool.join("goondan.yaml"), manifest)?;
    let function = "from toolhost import tool\n\n@tool\ndef hello() -> None:\n    ...\n";
    fs::write(tool.join("tool.py"), format!("{import}\n{function}"))?;
    let program = workspace.built("toolhost-cli", "toolhost")?;
    let mut build = in_own_cache(Command::new(program), workspace);
    child::run(build.args(["build", "--force"]).arg(tool))
}

/// Another cache and state than the user's.
pub(crate) fn own(workspace: &Workspace) -> PathBuf {
    workspace.root().join("target/guests-build")
}

/// Uses another cache than the user's.
pub(crate) fn in_own_cache(mut command: Command, workspace: &Workspace) -> Command {
    let own = own(workspace);
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

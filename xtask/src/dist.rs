//! Builds the packages of a release, and installs each in an empty folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::workspace::Workspace;
use crate::{child, packages, registry, sources};

/// The scripts that write and install packages, and the pinned versions of what builds the binary.
const SCRIPTS: &str = "xtask/dist";
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The C library that the binary of a release needs: that of Debian 10 and RHEL 8. `packages.py` checks it.
const GLIBC: &str = "2.28";

/// The binary that is packaged.
#[derive(Debug, PartialEq)]
pub(crate) enum DistRun {
    /// A new one, in the release profile.
    Release,
    /// One that was built, for whatever C library.
    Of(PathBuf),
}

impl DistRun {
    /// Parses the words after `cargo xtask dist`.
    pub(crate) fn parse(words: &[String]) -> Result<Self> {
        match words {
            [] => Ok(Self::Release),
            [word, path] if word == "--binary" => Ok(Self::Of(PathBuf::from(path))),
            [word, ..] => bail!("`dist` takes `--binary PATH`, but got `{word}`"),
        }
    }
}

/// Writes the packages to `target/dist`, and installs them.
///
/// # Errors
/// The binary cannot be built or needs a newer C library, or a package does not install or run.
pub(crate) fn run(workspace: &Workspace, run: &DistRun) -> Result<()> {
    if let Some(missing) = packages::missing_python() {
        bail!("`dist` writes packages with Python: install {missing}");
    }
    let out = workspace.target().join("dist");
    for import in ["", "import urllib.request"] {
        sources::make_base(workspace, import)?;
    }
    match run {
        DistRun::Release => {
            let binary = build(workspace)?;
            write(workspace, &binary, &out, |_| {})?;
        }
        DistRun::Of(binary) => write(workspace, binary, &out, any_c_library)?,
    }
    install(workspace, &out, |_| {})
}

/// Tests packages with the binary of the dev profile: they install and run, and a second time they have the same
/// bytes. Prints that they are not tested without Python. The guests must be built.
pub(crate) fn test(workspace: &Workspace) -> Result<()> {
    if let Some(missing) = packages::missing_python() {
        println!("test: packages of releases are NOT tested: install {missing}");
        return Ok(());
    }
    let folder = workspace.target().join("dist-test");
    fs::create_dir_all(&folder)?;
    let binary = folder.join("toolhost");
    let built = workspace.built("toolhost-cli", "toolhost")?;
    // Without debug information, which is half of it.
    if !child::works(Command::new("strip").arg("-o").arg(&binary).arg(&built)) {
        fs::copy(&built, &binary)?;
    }
    sources::make_base(workspace, "")?;
    let [first, second] = ["first", "second"].map(|name| folder.join(name));
    for out in [&first, &second] {
        write(workspace, &binary, out, |command| {
            any_c_library(command);
            command.env("TOOLHOST_DIST_LEVEL", "1");
        })?;
    }
    let sums = |folder: &Path| fs::read_to_string(folder.join("SHA256SUMS"));
    ensure!(
        sums(&first)? == sums(&second)?,
        "packages of one binary differ: compare {} and {}",
        first.display(),
        second.display()
    );
    install(workspace, &first, |command| {
        // That of the tests of the command line: nothing is compiled twice.
        command
            .env("TOOLHOST_DIST_CACHE", workspace.target().join("tmp"))
            .env("TOOLHOST_DIST_GUESTS", sources::own(workspace));
    })
}

/// Builds the binary of a release with zig, which has the C libraries of all ages.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target().join("dist-build");
    fs::create_dir_all(&folder)?;
    let pinned = workspace.root().join(SCRIPTS).join("requirements.txt");
    let python = packages::install_venv(&pinned, &folder.join("python"))?;
    let zigbuild = python.with_file_name("cargo-zigbuild");
    let mut cargo = Command::new(zigbuild);
    cargo
        .args(["zigbuild", "--release", "--locked"])
        .args(["--package", "toolhost-cli"])
        .args(["--target", &format!("{TARGET}.{GLIBC}")])
        .current_dir(workspace.root())
        .env("CARGO_ZIGBUILD_PYTHON_PATH", &python)
        .env("CARGO_TARGET_DIR", &folder);
    child::run(&mut cargo).context("the binary of the release")?;
    Ok(folder.join(TARGET).join("release/toolhost"))
}

fn any_c_library(command: &mut Command) {
    command.env("TOOLHOST_DIST_ANY_GLIBC", "1");
}

fn write(
    workspace: &Workspace,
    binary: &Path,
    out: &Path,
    with: impl Fn(&mut Command),
) -> Result<()> {
    let mut python = script(workspace, "packages.py");
    python.arg(binary).arg(out);
    with(&mut python);
    child::run(&mut python)
}

fn install(workspace: &Workspace, folder: &Path, with: impl Fn(&mut Command)) -> Result<()> {
    let component = workspace.examples().join(".toolhost/echo.wasm");
    let mut python = script(workspace, "check.py");
    python.arg(folder).arg(component);
    let registry = registry::program(workspace);
    if registry.exists() {
        python.arg(registry);
    }
    with(&mut python);
    child::run(&mut python)
}

fn script(workspace: &Workspace, name: &str) -> Command {
    let mut python = Command::new("python3");
    python
        .arg("-B")
        .arg(workspace.root().join(SCRIPTS).join(name))
        .current_dir(workspace.root());
    python
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_is_built_unless_one_is_named() {
        let parse = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|&word| word.to_owned()).collect();
            DistRun::parse(&words)
        };
        assert_eq!(parse(&[]).unwrap(), DistRun::Release);
        let named = parse(&["--binary", "a/toolhost"]).unwrap();
        assert_eq!(named, DistRun::Of(PathBuf::from("a/toolhost")));
        for words in [&["--binary"][..], &["--nope"], &["--binary", "a", "b"]] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}

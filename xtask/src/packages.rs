//! Installs packages of npm and PyPI at the versions that files of the repository pin.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::child;

const NPM_FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// What to install so that [`install_npm_copy`] works, if it is missing.
pub(crate) fn missing_npm() -> Option<&'static str> {
    let recent = "process.exit(Number.parseInt(process.versions.node) < 20 ? 1 : 0)";
    let node = child::works(Command::new("node").args(["-e", recent]));
    let npm = node && child::works(Command::new("npm").arg("--version"));
    (!npm).then_some("Node 20 or newer, with npm")
}

/// What to install so that [`install_venv`] works, if it is missing.
pub(crate) fn missing_python() -> Option<&'static str> {
    // Debian has the module venv without ensurepip.
    let recent = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";
    let python = child::works(Command::new("python3").args(["-c", recent]));
    (!python).then_some("Python 3.10 or newer, with venv (Debian: python3-venv)")
}

/// Installs the packages of a lock file beside it, unless they are installed.
pub(crate) fn install_npm(folder: &Path) -> Result<()> {
    if is_older(
        &folder.join("node_modules/.package-lock.json"),
        &folder.join("package-lock.json"),
    ) {
        npm_ci(folder)?;
    }
    Ok(())
}

/// Copies a lock file from `pinned` to `installed` and installs its packages there, unless that is done.
pub(crate) fn install_npm_copy(pinned: &Path, installed: &Path) -> Result<()> {
    let is_done = NPM_FILES
        .iter()
        .all(|file| same(&pinned.join(file), &installed.join(file)))
        && installed.join("node_modules/.package-lock.json").exists();
    if is_done {
        return Ok(());
    }
    // npm writes this file last. Without it, an installation that was interrupted is not taken for done.
    let done = installed.join("node_modules/.package-lock.json");
    if done.exists() {
        fs::remove_file(done)?;
    }
    fs::create_dir_all(installed)?;
    for file in NPM_FILES {
        let from = pinned.join(file);
        fs::copy(&from, installed.join(file)).with_context(|| from.display().to_string())?;
    }
    npm_ci(installed)
}

fn npm_ci(folder: &Path) -> Result<()> {
    let mut npm = Command::new("npm");
    // Without the warnings about packages that need a newer Node than npm runs with.
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .arg("--loglevel=error");
    child::run(npm.current_dir(folder))
}

/// Makes a virtual environment with the packages of a requirements file with hashes, unless it is made,
/// and returns its Python.
pub(crate) fn install_venv(requirements: &Path, venv: &Path) -> Result<PathBuf> {
    let python = venv.join("bin/python");
    let installed = venv.join("requirements.txt");
    if same(requirements, &installed) && child::works(Command::new(&python).arg("--version")) {
        return Ok(python);
    }
    child::run(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(venv),
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
    child::run(pip.arg(requirements))?;
    fs::copy(requirements, installed)?;
    Ok(python)
}

/// Makes a link to a file, in place of one to another file.
pub(crate) fn link(file: &Path, link: &Path) -> Result<()> {
    if fs::read_link(link).is_ok_and(|linked| linked == file) {
        return Ok(());
    }
    if link.symlink_metadata().is_ok() {
        fs::remove_file(link)?;
    }
    symlink(file, link).with_context(|| link.display().to_string())
}

/// Returns whether two files exist and have the same bytes.
fn same(one: &Path, other: &Path) -> bool {
    match (fs::read(one), fs::read(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// Returns whether a file is missing, or older than its source.
fn is_older(made: &Path, of: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|found| found.modified());
    match (time(made), time(of)) {
        (Ok(made), Ok(of)) => made < of,
        _ => true,
    }
}

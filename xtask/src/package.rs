//! Packages the crates that are published, as `cargo publish` does, and looks at the packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::published::{self, Published};
use crate::workspace::Workspace;
use crate::{child, docs};

mod compile;
mod included;

/// How much of the packages is checked.
#[derive(Debug, PartialEq, Clone, Copy)]
pub(crate) enum PackageRun {
    /// That each can be packaged and contains the files that its sources include.
    Contents,
    /// Also that each compiles, with no features but those that it asks for.
    Verify,
}

impl PackageRun {
    /// Parses the words after `cargo xtask package`.
    pub(crate) fn parse(words: &[String]) -> Result<Self> {
        match words {
            [] => Ok(Self::Contents),
            [word] if word == "--verify" => Ok(Self::Verify),
            [word, ..] => bail!("`package` takes `--verify`, but got `{word}`"),
        }
    }
}

/// Packages every published crate and checks the packages.
///
/// # Errors
/// A crate cannot be packaged, lacks a file, or does not compile.
pub(crate) fn run(workspace: &Workspace, run: PackageRun) -> Result<()> {
    package(workspace)?;
    let sources = workspace.root().join("target/package/sources");
    if sources.exists() {
        fs::remove_dir_all(&sources)?;
    }
    for published in published::all() {
        let folder = sources.join(published.name);
        unpack(&archive(workspace, published)?, &folder)?;
        included::check(&folder).with_context(|| format!("the package of {}", published.name))?;
    }
    match run {
        PackageRun::Contents => Ok(()),
        PackageRun::Verify => compile::check(workspace, &sources),
    }
}

/// Has cargo write an archive for each crate. A dependency on a path without a version is an error.
fn package(workspace: &Workspace) -> Result<()> {
    let package = ["package", "--quiet", "--no-verify", "--allow-dirty"];
    let mut host = child::cargo(workspace.root());
    host.env("CARGO_TARGET_DIR", workspace.target())
        .args(package)
        .args(published::host_packages());
    child::run(&mut host)?;
    // The registry does not have the macros yet.
    let macros = workspace.root().join(published::GUEST_MACROS.folder);
    let macros = format!("patch.crates-io.toolhost-guest-macros.path={macros:?}");
    for guest in [&published::GUEST_MACROS, &published::GUEST] {
        let mut cargo = child::guest_cargo(&workspace.root().join(guest.folder));
        cargo.env("CARGO_TARGET_DIR", docs::sdk_target(workspace));
        child::run(cargo.args(package).args(["--config", &macros]))?;
    }
    Ok(())
}

/// Returns the archive of a crate.
fn archive(workspace: &Workspace, published: &Published) -> Result<PathBuf> {
    let folder = workspace.root().join(published.folder);
    let id = child::read(child::cargo(&folder).args(["pkgid", "--offline"]))?;
    let version = id.trim().rsplit(['#', '@']).next().unwrap_or_default();
    let target = if published.is_guest() {
        docs::sdk_target(workspace)
    } else {
        workspace.target()
    };
    Ok(target.join(format!("package/{}-{version}.crate", published.name)))
}

/// Unpacks an archive, without its top folder.
fn unpack(archive: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--gzip", "--strip-components=1", "--file"])
        .arg(archive)
        .arg("--directory")
        .arg(folder);
    child::run(&mut tar)
}

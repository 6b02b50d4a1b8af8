//! Compares the public API of the published crates, but the internal ones, with the listings in `docs/api`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::published::{self, Published};
use crate::workspace::Workspace;
use crate::{child, docs};

mod comparison;
mod findings;
mod listing;
mod version;

use listing::Listing;

/// What to do with the listings.
#[derive(Debug, PartialEq, Clone, Copy)]
pub(crate) enum ApiRun {
    /// Compares them with the crates.
    Check,
    /// Writes those of the crates as they are.
    Write,
    /// Writes these, and makes them the released ones.
    Release,
}

impl ApiRun {
    /// Parses the words after `cargo xtask api`.
    pub(crate) fn parse(words: &[String]) -> Result<Self> {
        match words {
            [] => Ok(Self::Check),
            [word] if word == "--write" => Ok(Self::Write),
            [word] if word == "--release" => Ok(Self::Release),
            [word, ..] => bail!("`api` takes `--write` or `--release`, but got `{word}`"),
        }
    }
}

/// Folder of the listings, and that of the listings of the last release.
const CURRENT: &str = "docs/api";
const RELEASED: &str = "docs/api/released";

/// Makes the listing of each published crate that anybody may name, and compares or writes the files.
///
/// # Errors
/// A listing is out of date, or a crate has breaking changes that its version does not announce.
pub(crate) fn run(workspace: &Workspace, run: ApiRun) -> Result<()> {
    let program = build(workspace)?;
    let [host, sdk] = docs::json(workspace)?;
    let mut findings = Vec::new();
    for published in published::listed() {
        let folder = if published.is_guest() { &sdk } else { &host };
        let json = folder.join(format!("{}.json", published.name.replace('-', "_")));
        let text = child::read(Command::new(&program).arg(json))?;
        match run {
            ApiRun::Check => findings.extend(check(workspace, published, &text)?),
            ApiRun::Write => write(workspace, CURRENT, published, &text)?,
            ApiRun::Release => {
                write(workspace, CURRENT, published, &text)?;
                write(workspace, RELEASED, published, &text)?;
            }
        }
    }
    if !findings.is_empty() {
        bail!("{}", findings.join("\n\n"));
    }
    Ok(())
}

/// Builds the program that makes listings, and returns where it is.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    child::run(cargo(workspace).args(["build", "--quiet", "--locked"]))?;
    Ok(target(workspace).join("debug/toolhost-public-api"))
}

/// Returns a cargo for the program that makes listings.
pub(crate) fn cargo(workspace: &Workspace) -> Command {
    let mut cargo = child::guest_cargo(&workspace.root().join("xtask/public-api"));
    cargo.env("CARGO_TARGET_DIR", target(workspace));
    cargo
}

fn target(workspace: &Workspace) -> PathBuf {
    workspace.root().join("target/public-api")
}

fn file(workspace: &Workspace, folder: &str, published: &Published) -> PathBuf {
    let folder = workspace.root().join(folder);
    folder.join(format!("{}.txt", published.name))
}

fn write(workspace: &Workspace, folder: &str, published: &Published, text: &str) -> Result<()> {
    let file = file(workspace, folder, published);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&file, text).with_context(|| file.display().to_string())
}

/// Returns the listing in a file, if there is the file.
fn read(file: &Path) -> Result<Option<String>> {
    if !file.exists() {
        return Ok(None);
    }
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    Ok(Some(text))
}

/// Returns what is wrong with the listing of a crate.
fn check(workspace: &Workspace, published: &Published, text: &str) -> Result<Vec<String>> {
    let recorded = read(&file(workspace, CURRENT, published))?.unwrap_or_default();
    let released = read(&file(workspace, RELEASED, published))?;
    let current = Listing::parse(text);
    let outdated = findings::outdated(published, &Listing::parse(&recorded), &current);
    let unannounced = released.and_then(|released| {
        findings::unannounced(published, &Listing::parse(&released), &current)
    });
    Ok(outdated.into_iter().chain(unannounced).collect())
}

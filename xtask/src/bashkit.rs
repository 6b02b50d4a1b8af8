//! The interpreter of the tool `bash`: bashkit from crates.io, with `guest-examples/rust/bash/bashkit.patch`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::workspace::Workspace;
use crate::{child, whole_folder};

const VERSION: &str = "0.20.2";

/// Of the crate's archive, as the index of crates.io has it.
const CHECKSUM: &str = "f1b90af3743cfadbd07957b760b5bb91dc2137526e8d2b38aca902c23598891f";

/// What is in the folder of the patched crate once it is whole: the patch that it has.
const APPLIED: &str = "applied.patch";

/// A package that has cargo download the crate.
const DOWNLOAD: &str = r#"[package]
name = "download"
version = "0.0.0"
edition = "2024"

[lib]
path = "lib.rs"

[workspace]

[dependencies]
bashkit = { version = "=VERSION", default-features = false }
"#;

/// Makes the patched crate in `target/bashkit`, unless it is there.
pub(crate) fn prepare(workspace: &Workspace) -> Result<()> {
    let patch = workspace.examples().join("rust/bash/bashkit.patch");
    let folder = workspace.root().join("target/bashkit");
    let text = fs::read_to_string(&patch).with_context(|| patch.display().to_string())?;
    let version_and_patch = format!("{VERSION}\n{text}");
    let applied = || {
        let applied = fs::read_to_string(folder.join(APPLIED)).ok();
        applied.filter(|applied| *applied == version_and_patch)
    };
    whole_folder::fill(&folder, applied, |unfinished| {
        copy(&download(workspace)?, unfinished)?;
        // A package in `target/` is not one of the workspace around it.
        let manifest = unfinished.join("Cargo.toml");
        let text = fs::read_to_string(&manifest)?;
        fs::write(&manifest, format!("{text}\n[workspace]\n"))?;
        // Without a repository, git takes the paths as the patch has them.
        let mut git = Command::new("git");
        git.current_dir(unfinished).env("GIT_DIR", unfinished);
        child::run(git.arg("apply").arg("--whitespace=nowarn").arg(&patch))
            .context("bashkit.patch does not apply")?;
        fs::write(unfinished.join(APPLIED), &version_and_patch)?;
        Ok(version_and_patch.clone())
    })
    .map(drop)
}

/// Has cargo download and check the crate, and returns the folder of its source.
fn download(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.root().join("target/bashkit-download");
    fs::create_dir_all(&folder)?;
    fs::write(
        folder.join("Cargo.toml"),
        DOWNLOAD.replace("VERSION", VERSION),
    )?;
    fs::write(folder.join("lib.rs"), "")?;
    let mut cargo = child::guest_cargo(&folder);
    child::run(cargo.args(["fetch", "--quiet", "--target", crate::wasip2::TARGET]))?;
    let lock = fs::read_to_string(folder.join("Cargo.lock"))?;
    ensure!(
        lock.contains(CHECKSUM),
        "crates.io has another bashkit {VERSION} than the one that was read"
    );
    let home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => Path::new(&std::env::var_os("HOME").context("HOME is not set")?).join(".cargo"),
    };
    let sources = home.join("registry/src");
    for registry in fs::read_dir(&sources).with_context(|| sources.display().to_string())? {
        let source = registry?.path().join(format!("bashkit-{VERSION}"));
        if source.join("Cargo.toml").is_file() {
            return Ok(source);
        }
    }
    bail!(
        "cargo has downloaded no bashkit {VERSION} to {}",
        sources.display()
    )
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

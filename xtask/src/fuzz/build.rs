//! Builds fuzz targets, with cargo-fuzz.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::child;
use crate::workspace::Workspace;

/// The release of cargo-fuzz that is installed where there is none.
const CARGO_FUZZ: &str = "0.13.1";

/// Targets that were built.
pub(super) struct Built {
    /// Folder of their programs.
    programs: PathBuf,
}

impl Built {
    /// The program of a target.
    pub(super) fn program(&self, target: &str) -> PathBuf {
        self.programs.join(target)
    }
}

/// Builds targets with the stable compiler: coverage alone, no sanitizer, since no code of ours is
/// unsafe and a sanitizer would halve the speed. Debug assertions and overflow checks are on.
pub(super) fn targets(workspace: &Workspace, targets: &[&str]) -> Result<Built> {
    let cargo_fuzz = cargo_fuzz(workspace)?;
    let target_dir = workspace.target().join("fuzz/build");
    for target in targets {
        let mut build = child::around_cargo(&cargo_fuzz, workspace.root());
        build
            .args(["fuzz", "build", "--sanitizer", "none", "--fuzz-dir"])
            .arg(workspace.fuzz())
            .arg("--target-dir")
            .arg(&target_dir);
        let feature = match *target {
            "component" => Some("components"),
            "prepare" => Some("prepare"),
            _ => None,
        };
        if let Some(feature) = feature {
            build.args(["--features", feature]);
        }
        child::run(build.arg(target))?;
    }
    let compiler = child::read(
        Command::new("rustc")
            .arg("-vV")
            .current_dir(workspace.root()),
    )?;
    let machine = compiler
        .lines()
        .find_map(|line| line.strip_prefix("host: "));
    let machine = machine.context("rustc does not say what it compiles for")?;
    Ok(Built {
        programs: target_dir.join(machine).join("release"),
    })
}

/// Finds cargo-fuzz, or installs it beneath `target/tools`.
fn cargo_fuzz(workspace: &Workspace) -> Result<PathBuf> {
    let installed = workspace.tools().join("bin/cargo-fuzz");
    for known in [PathBuf::from("cargo-fuzz"), installed.clone()] {
        if child::works(child::around_cargo(&known, workspace.root()).arg("--version")) {
            return Ok(known);
        }
    }
    println!("fuzz: installing cargo-fuzz {CARGO_FUZZ} into target/tools");
    let mut install = child::cargo(workspace.root());
    install.args([
        "install",
        "cargo-fuzz",
        "--locked",
        "--version",
        CARGO_FUZZ,
        "--root",
    ]);
    child::run(install.arg(workspace.tools()))?;
    Ok(installed)
}

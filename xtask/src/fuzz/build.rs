//! Builds fuzz targets, with cargo-fuzz.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::child;
use crate::tool::Tool;
use crate::workspace::Workspace;

const CARGO_FUZZ: Tool = Tool {
    name: "cargo-fuzz",
    version: "0.13.1",
};

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

/// Builds targets with the stable compiler, with coverage and without a sanitizer: the host has no unsafe
/// code, and a sanitizer would halve the speed. Debug assertions and overflow checks are on.
pub(super) fn targets(workspace: &Workspace, targets: &[&str]) -> Result<Built> {
    let cargo_fuzz = CARGO_FUZZ.find_or_install(workspace)?;
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
    let machine = machine.context("`rustc -vV` does not print its host")?;
    Ok(Built {
        programs: target_dir.join(machine).join("release"),
    })
}

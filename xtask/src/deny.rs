//! Checks the licences, sources and known vulnerabilities of dependencies.

use std::process::Command;

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{bashkit, child, tool};

/// The release that `deny.toml` is written for.
const CARGO_DENY: tool::Tool = tool::Tool {
    name: "cargo-deny",
    version: "0.20.2",
};

/// Runs the checks of `deny.toml`. If the database of advisories cannot be fetched, prints that known
/// vulnerabilities are not checked, and runs the other checks.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let program = CARGO_DENY.find_or_install(workspace)?;
    bashkit::prepare(workspace)?;
    let deny = |manifest: &str, words: &[&str]| {
        let mut command = Command::new(&program);
        command
            .current_dir(workspace.root())
            .args(["--workspace", "--all-features", "--config", "deny.toml"])
            .args(["--manifest-path", manifest])
            .args(words);
        command
    };
    let manifests = [
        "Cargo.toml",
        "guest-examples/Cargo.toml",
        "guest-examples/rust/bash/Cargo.toml",
        "xtask/public-api/Cargo.toml",
    ];
    for manifest in manifests {
        println!("deny: licences, bans and sources of {manifest}");
        let checks = [
            "check",
            "--hide-inclusion-graph",
            "licenses",
            "bans",
            "sources",
        ];
        child::run(&mut deny(manifest, &checks))?;
    }
    let [host, ..] = manifests;
    if !child::works(&mut deny(host, &["fetch", "db"])) {
        println!(
            "deny: the database of advisories cannot be fetched: known vulnerabilities are NOT checked"
        );
        return Ok(());
    }
    for manifest in manifests {
        println!("deny: advisories of {manifest}");
        child::run(&mut deny(manifest, &["check", "advisories"]))?;
    }
    Ok(())
}

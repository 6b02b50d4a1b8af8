//! Compiles packages from their own sources.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{child, published};

/// Checks that each of the unpacked crates compiles against the others. They are checked one by one and
/// without `toolhost-features`, so that each has only the features that it asks for. The dependencies are
/// compiled once for that, which takes minutes.
pub(super) fn check(workspace: &Workspace, sources: &Path) -> Result<()> {
    let mut manifest = String::from(
        "[workspace]\nresolver = \"3\"\nmembers = [\"toolhost*\"]\n[patch.crates-io]\n",
    );
    for published in published::all() {
        writeln!(manifest, "{0} = {{ path = \"{0}\" }}", published.name)?;
    }
    fs::write(sources.join("Cargo.toml"), manifest)?;
    // The releases of dependencies that everything else is tested with.
    fs::copy(
        workspace.root().join("Cargo.lock"),
        sources.join("Cargo.lock"),
    )?;
    for published in published::all() {
        println!("package: compiling {}", published.name);
        let mut cargo = child::guest_cargo(sources);
        cargo
            .env(
                "CARGO_TARGET_DIR",
                workspace.root().join("target/package/check"),
            )
            .args(["check", "--quiet", "--lib", "--package", published.name]);
        child::run(&mut cargo)?;
    }
    Ok(())
}

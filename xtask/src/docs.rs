//! What rustdoc knows of the crates that are published.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{child, published};

/// Has rustdoc read the published crates and write JSON, and returns the folders of the files: that of the
/// host's crates and that of the Rust SDK.
///
/// # Errors
/// rustdoc found something to warn of, such as a link that leads nowhere: it checks the same as for pages.
pub(crate) fn json(workspace: &Workspace) -> Result<[PathBuf; 2]> {
    let rustdoc = workspace.root().join("xtask/rustdoc-json.sh");
    let mut host = child::cargo(workspace.root());
    host.args(DOC)
        // With the features with which everything else is built.
        .args(["--package", "toolhost-features"])
        .args(published::host_packages());
    child::run(with_json(&mut host, &rustdoc))?;
    let mut sdk = child::guest_cargo(&workspace.sdk("rust"));
    sdk.env("CARGO_TARGET_DIR", sdk_target(workspace)).args(DOC);
    child::run(with_json(&mut sdk, &rustdoc))?;
    Ok([workspace.target(), sdk_target(workspace)].map(|target| target.join("doc")))
}

const DOC: [&str; 4] = ["doc", "--quiet", "--no-deps", "--lib"];

fn with_json<'a>(cargo: &'a mut Command, rustdoc: &Path) -> &'a mut Command {
    let flags = "-Z unstable-options --output-format json -D warnings";
    cargo.env("RUSTDOC", rustdoc).env("RUSTDOCFLAGS", flags)
}

/// Returns the target directory in which the Rust SDK is checked.
pub(crate) fn sdk_target(workspace: &Workspace) -> PathBuf {
    workspace.root().join("target/guests-build/sdk")
}

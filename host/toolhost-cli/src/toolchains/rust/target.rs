//! Checks that rustc compiles and links for the target, before it compiles the packages of a tool.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tokio::process::Command;

use super::cargo_messages::{self, Messages};
use crate::toolchains::build_error::{BuildError, Fault};
use crate::toolchains::kit_cache::KitCache;
use crate::toolchains::process::{self, ProcessOutput};

pub(in crate::toolchains) const TARGET: &str = "wasm32-wasip2";

pub(in crate::toolchains) const GET_RUST: &str = "Install Rust: https://rustup.rs";

/// A package without dependencies. It is a workspace of its own, wherever the cache lies.
const MANIFEST: &str = "\
[package]
name = \"toolhost-probe\"
version = \"0.0.0\"
edition = \"2021\"

[workspace]

[lib]
path = \"lib.rs\"
crate-type = [\"cdylib\"]
";

const SOURCE: &str = "//! An empty component.\n";

/// The name of its library.
pub(super) const PROBE: &str = "toolhost_probe";

/// The linker of the target.
const LINKER: &str = "wasm-component-ld";

/// Builds an empty component with the compiler, the settings and the target directory of a package. It is
/// kept there: the next check takes a tenth of a second.
///
/// # Errors
/// The standard library or the linker of the target is missing. Other failures are ignored: building the
/// package reports them.
pub(super) async fn check(
    package: &Path,
    target_dir: Option<&Path>,
    cache: &KitCache,
) -> Result<(), BuildError> {
    let mut cargo = cargo(package, &write_probe(cache)?, target_dir);
    let output = process::run(&mut cargo, GET_RUST).await?;
    if output.is_ok {
        Ok(())
    } else {
        missing(&Messages::parse(&output.stdout), &output).map_or(Ok(()), Err)
    }
}

/// Returns what is missing on the machine, if that made a build fail.
pub(super) fn missing(messages: &Messages, output: &ProcessOutput) -> Option<BuildError> {
    let (message, next) = if messages.lack_std() || cargo_messages::lacks_std(&output.stderr) {
        (
            format!("rustc has no standard library for {TARGET}"),
            get_target(),
        )
    } else if messages.lack_linker(LINKER) {
        (
            format!(
                "rustc has no linker for {TARGET}: `{LINKER}` is not installed, or not in PATH"
            ),
            format!(
                "Use rustc from https://rustup.rs, which brings it along, or install it: \
                 cargo install {LINKER}"
            ),
        )
    } else {
        return None;
    };
    Some(BuildError::machine(Fault::new(message).next(next)))
}

/// Returns how to install the standard library of the target.
pub(in crate::toolchains) fn get_target() -> String {
    format!(
        "rustup target add {TARGET}. If your distribution installed rustc, install its package \
         with that standard library (Debian and Ubuntu: libstd-rust-dev-wasm32), or use rustup"
    )
}

/// Writes the empty package, unless it is there, and returns its manifest.
fn write_probe(cache: &KitCache) -> Result<PathBuf> {
    let folder = cache.folder("rust-probe")?;
    for (name, text) in [("Cargo.toml", MANIFEST), ("lib.rs", SOURCE)] {
        let path = folder.join(name);
        // Cargo compares modification times.
        if fs::read(&path).is_ok_and(|bytes| bytes == text.as_bytes()) {
            continue;
        }
        fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(folder.join("Cargo.toml"))
}

/// Returns cargo with the arguments of every build, in the folder of a package, where it finds
/// `.cargo/config.toml`.
pub(super) fn cargo(package: &Path, manifest: &Path, target_dir: Option<&Path>) -> Command {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--release", "--lib", "--target", TARGET])
        .args(["--message-format", "json", "--manifest-path"])
        .arg(manifest)
        .current_dir(package);
    if let Some(target_dir) = target_dir {
        cargo.arg("--target-dir").arg(target_dir);
    }
    cargo
}

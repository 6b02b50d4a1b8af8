//! Rust: cargo, for `wasm32-wasip2`, with the SDK laid out in the package.

mod cargo_messages;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use tokio::process::Command;
use toolhost::bundle::built::Language;

use super::build_error::{BuildError, ErrorCause, Fault};
use super::job::{BuildJob, BuiltComponent, TargetDir};
use super::kit::{self, Kit, sync_folder};
use super::process::{self, Said};
use crate::files;
use cargo_messages::Messages;

const TARGET: &str = "wasm32-wasip2";

const GET_RUST: &str = "Install Rust: https://rustup.rs";

/// Where the SDK is laid out, as a package's `Cargo.toml` names it.
const SDK: &str = ".toolhost/sdk/rust";

/// Builds a package.
pub(super) async fn build(job: &BuildJob<'_>) -> Result<BuiltComponent, BuildError> {
    let manifest = job.entry;
    let package = manifest.parent().unwrap_or(Path::new("/"));
    let text = fs::read_to_string(manifest).context("Cargo.toml cannot be read")?;
    if text.contains(&format!("\"{SDK}\"")) {
        write_sdk(package)?;
    }
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--release", "--lib", "--target", TARGET])
        .args(["--message-format", "json", "--manifest-path"])
        .arg(manifest)
        // Where its `.cargo/config.toml` is found.
        .current_dir(package);
    let mut own = None;
    if job.target_dir == TargetDir::Cache {
        let folder = job.kit_cache.folder("cargo")?;
        // Two packages may give their components the same name: it is read before the next is built.
        own = Some(files::lock(&folder.join("lock")).await?);
        cargo.arg("--target-dir").arg(folder);
    }
    let started = SystemTime::now();
    let said = process::run_installed(&mut cargo, GET_RUST).await?;
    let messages = Messages::parse(&said.stdout);
    if !said.is_ok() {
        return Err(refused(&messages, &said));
    }
    let Some(component) = messages.component(manifest) else {
        let fault = Fault {
            file: Some("Cargo.toml".to_owned()),
            ..Fault::new("the package is no component: its library is not a `cdylib`")
        };
        return Err(BuildError::source(
            fault.next("Write `crate-type = [\"cdylib\"]` under `[lib]`."),
        ));
    };
    let made = BuiltComponent {
        component: fs::read(&component).context("cargo left no component")?,
        inputs: inputs(manifest, &component, &messages)?,
        started,
        notes: messages.warnings(),
    };
    drop(own);
    Ok(made)
}

/// Lays out the SDK and the contract that it reads.
pub(crate) fn write_sdk(package: &Path) -> Result<()> {
    let files: Vec<_> = Kit::of(Language::Rust).builder().collect();
    sync_folder(files.iter().copied(), package, SDK)?;
    let files: Vec<_> = kit::contract().collect();
    sync_folder(files.iter().copied(), package, ".toolhost/wit")
}

fn refused(messages: &Messages, said: &Said) -> BuildError {
    if messages.lack_std() || cargo_messages::lacks_std(&said.stderr) {
        let fault = Fault::new(format!("rustc has no standard library for {TARGET}"));
        return BuildError::machine(fault.next(format!("rustup target add {TARGET}")));
    }
    let faults = messages.errors();
    if !faults.is_empty() {
        return BuildError {
            whose: ErrorCause::Source,
            faults,
        };
    }
    // Cargo itself: a manifest it cannot read, a package it cannot find or fetch.
    let end = said.end();
    let mut lines = end.lines();
    let message = lines.find_map(|line| line.strip_prefix("error: "));
    let message = message.unwrap_or("cargo failed").to_owned();
    let rest: Vec<&str> = lines.collect();
    let fault = Fault::new(format!("cargo: {message}")).detail(rest.join("\n"));
    BuildError::source(fault.next("Correct Cargo.toml; see that cargo reaches its registry."))
}

/// The files that the component was built of: those of the package and of packages it names by path,
/// their manifests, and the lock file; not what the build itself wrote.
fn inputs(manifest: &Path, component: &Path, messages: &Messages) -> Result<Vec<PathBuf>> {
    let list = component.with_extension("d");
    let list =
        fs::read_to_string(&list).with_context(|| format!("cargo left no {}", list.display()))?;
    let mut inputs = cargo_messages::sources_of(&list);
    // TARGET_DIR/wasm32-wasip2/release/NAME.wasm
    if let Some(target_dir) = component.ancestors().nth(3) {
        inputs.retain(|input| !input.starts_with(target_dir));
    }
    inputs.extend(messages.local_manifests());
    let above = manifest.ancestors().skip(1);
    let mut locks = above.map(|dir| dir.join("Cargo.lock"));
    inputs.extend(locks.find(|lock| lock.is_file()));
    inputs.sort();
    inputs.dedup();
    Ok(inputs)
}

//! TypeScript and JavaScript: esbuild and a JavaScript engine, by `guest-sdk/typescript`.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use tokio::process::Command;
use toolhost::bundle::built::Language;

use super::build_error::{BuildError, Fault};
use super::job::Engine;
use super::job::{BuildJob, BuiltComponent};
use super::kit::{self, Kit, KitFile};
use super::kit_cache::{KitCache, contract_dir};
use super::kit_reply::{Answer, Told};
use super::process;
use crate::terminal::progress::Progress;

const KIT: Kit = Kit::of(Language::TypeScript);

/// The oldest Node that runs the kit.
const NODE: u32 = 20;

const GET_NODE: &str = "Install Node 20 or newer, with npm: https://nodejs.org";

/// Where the packages for tools that use `fetch` are installed, in the kit.
const STARLINGMONKEY: &str = "build/starlingmonkey";

/// Builds a module that exports `handlers`.
pub(super) async fn build(job: &BuildJob<'_>) -> Result<BuiltComponent, BuildError> {
    let kit = kit(job.kit_cache, job.progress).await?;
    if job.engine == Some(Engine::StarlingMonkey) {
        starlingmonkey(&kit, job).await?;
    }
    let out = job.kit_cache.folder("out")?;
    let out = tempfile::tempdir_in(out).context("there is no room to build in")?;
    let out = out.path().join("tool.wasm");
    let started = SystemTime::now();
    match make(&kit, job, &out).await? {
        Answer::Refused { kind, errors } if needs_starlingmonkey(&kind, &errors) => {
            starlingmonkey(&kit, job).await?;
            make(&kit, job, &out).await?.made(&out, started)
        }
        answer @ (Answer::Built { .. } | Answer::Refused { .. }) => answer.made(&out, started),
    }
}

/// Whether the tool uses `fetch`, whose packages are not there yet.
fn needs_starlingmonkey(kind: &str, errors: &[Told]) -> bool {
    let says = |told: &Told| {
        let suggestion = told.suggestion.as_deref().unwrap_or_default();
        suggestion.contains(STARLINGMONKEY)
    };
    kind == "environment" && errors.iter().any(says)
}

async fn make(kit: &Path, job: &BuildJob<'_>, out: &Path) -> Result<Answer, BuildError> {
    let mut node = Command::new("node");
    node.arg(kit.join("build.mjs"))
        .arg("--entry")
        .arg(job.entry)
        .arg("--out")
        .arg(out)
        .arg("--wit")
        .arg(contract_dir(kit))
        .arg("--json");
    if let Some(engine) = job.engine {
        node.args(["--engine", engine.name()]);
    }
    let said = process::run_installed(&mut node, GET_NODE).await?;
    Answer::of(&said, "TypeScript")
}

/// The kit, laid out, with its packages.
async fn kit(kit_cache: &KitCache, progress: &Progress) -> Result<PathBuf, BuildError> {
    check_node().await?;
    let install = async |folder: &Path| {
        progress.working("getting what builds TypeScript, once");
        npm(&folder.join("build"), &["ci", "--omit=dev"]).await
    };
    kit_cache.builder(KIT, install).await
}

/// What builds tools that use `fetch`, with its packages.
async fn starlingmonkey(kit: &Path, job: &BuildJob<'_>) -> Result<(), BuildError> {
    let install = async |folder: &Path| {
        job.progress
            .working("getting what builds tools that use `fetch`, once (187 MB)");
        let own = KIT.builder().filter_map(|file| {
            let path = file.path.strip_prefix(STARLINGMONKEY)?.strip_prefix('/')?;
            Some(KitFile { path, ..file })
        });
        kit::write_files(own, folder, "")?;
        npm(folder, &["ci", "--omit=dev"]).await
    };
    job.kit_cache
        .complete(kit.join(STARLINGMONKEY), install)
        .await?;
    Ok(())
}

async fn npm(folder: &Path, words: &[&str]) -> Result<(), BuildError> {
    let mut npm = Command::new("npm");
    npm.args(words)
        .args([
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ])
        .current_dir(folder);
    let said = process::run_installed(&mut npm, GET_NODE).await?;
    if said.is_ok() {
        return Ok(());
    }
    let what = format!("`npm {}` failed", words.join(" "));
    let next = "See that npm reaches its registry (`npm ping`), then build again.";
    Err(BuildError::machine(
        Fault::new(what).detail(said.end()).next(next),
    ))
}

async fn check_node() -> Result<(), BuildError> {
    let mut node = Command::new("node");
    let said = process::run_installed(node.arg("--version"), GET_NODE).await?;
    let version = said.stdout.trim();
    let major = version.trim_start_matches('v').split('.').next();
    match major.and_then(|major| major.parse::<u32>().ok()) {
        Some(major) if major >= NODE => Ok(()),
        _ => {
            let what = format!("node is {version}; tools are built with Node {NODE} or newer");
            Err(BuildError::machine(Fault::new(what).next(GET_NODE)))
        }
    }
}

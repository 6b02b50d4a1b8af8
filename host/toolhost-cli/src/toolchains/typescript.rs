//! Builds TypeScript and JavaScript with esbuild and a JavaScript engine, through
//! `guest-sdk/typescript`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use toolhost_manifest::bundle::built::Language;

use super::build_error::{BuildError, Fault};
use super::job::{BuildOptions, BuiltComponent, Engine};
use super::kit::{self, Kit, KitFile};
use super::kit_cache::contract_dir;
use super::kit_reply::KitReply;
use super::process;

const KIT: Kit = Kit::of(Language::TypeScript);

/// The oldest version of Node that the kit supports.
pub(super) const NODE: u32 = 20;

pub(super) const GET_NODE: &str = "Install Node 20 or newer, with npm: https://nodejs.org";

/// The folder of the kit with the packages of StarlingMonkey.
pub(super) const STARLINGMONKEY: &str = "build/starlingmonkey";

/// The package of a project that unit tests and editors find as `toolhost`: its `package.json` names this folder.
const PACKAGE: &str = ".toolhost/sdk/typescript";

/// Size of the kit with its packages, in bytes.
const KIT_BYTES: u64 = 80_000_000;

/// Size of the packages of StarlingMonkey, in bytes.
const STARLINGMONKEY_BYTES: u64 = 187_000_000;

pub(super) async fn build(
    entry: &Path,
    options: BuildOptions<'_>,
) -> Result<BuiltComponent, BuildError> {
    let kit = kit(options).await?;
    update_package(entry, options.bundle)?;
    if options.engine == Some(Engine::StarlingMonkey) {
        starlingmonkey(&kit, options).await?;
    }
    let out = options.kit_cache.folder("out")?;
    let out = tempfile::tempdir_in(out).context("the cache cannot hold the component")?;
    let out = out.path().join("tool.wasm");
    let started = SystemTime::now();
    match run_kit(&kit, entry, options, Action::Build(&out)).await? {
        KitReply::Refused { kind, errors } if needs_starlingmonkey(&kind, &errors) => {
            starlingmonkey(&kit, options).await?;
            run_kit(&kit, entry, options, Action::Build(&out))
                .await?
                .component(&out, started)
        }
        reply @ (KitReply::Built { .. } | KitReply::Refused { .. }) => {
            reply.component(&out, started)
        }
    }
}

/// Finds errors in the sources. Nothing of the tool runs. Returns the names of the handlers, if they are written
/// out.
pub(super) async fn check(
    entry: &Path,
    options: BuildOptions<'_>,
) -> Result<Option<Vec<String>>, BuildError> {
    let kit = kit(options).await?;
    let reply = run_kit(&kit, entry, options, Action::Check).await?;
    reply.handlers()
}

/// What the kit does.
#[derive(Debug, Clone, Copy)]
enum Action<'a> {
    Check,
    /// Writes the component to this file.
    Build(&'a Path),
}

/// Whether the tool asks for StarlingMonkey, and its packages are not installed yet.
fn needs_starlingmonkey(kind: &str, errors: &[Fault]) -> bool {
    let mut suggestions = errors.iter().filter_map(|fault| fault.next.as_deref());
    kind == "environment" && suggestions.any(|next| next.contains(STARLINGMONKEY))
}

async fn run_kit(
    kit: &Path,
    entry: &Path,
    options: BuildOptions<'_>,
    action: Action<'_>,
) -> Result<KitReply, BuildError> {
    let mut node = process::program("node");
    node.arg(kit.join("build.mjs"))
        .arg("--entry")
        .arg(entry)
        .arg("--root")
        .arg(options.bundle)
        .arg("--wit")
        .arg(contract_dir(kit))
        .arg("--json");
    match action {
        Action::Check => node.args(["--check", "--out", "unused.wasm"]),
        Action::Build(out) => node.arg("--out").arg(out),
    };
    if let Some(engine) = options.engine {
        node.args(["--engine", engine.name()]);
    }
    let output = process::run(&mut node, GET_NODE).await?;
    KitReply::parse(&output, "TypeScript")
}

/// Writes the package for unit tests and editors into the project of an entry, if its package.json names it.
fn update_package(entry: &Path, bundle: &Path) -> Result<()> {
    let names_it = |folder: &&Path| {
        let package = fs::read_to_string(folder.join("package.json"));
        package.is_ok_and(|text| text.contains(PACKAGE))
    };
    let folders = entry.ancestors().skip(1);
    let mut folders = folders.take_while(|folder| folder.starts_with(bundle));
    let folder = folders.find(names_it);
    folder.map_or(Ok(()), write_package)
}

/// Writes the package for unit tests and editors into a project. The link is that of `npm ci`, which a project without
/// other packages need not run.
pub(crate) fn write_package(project: &Path) -> Result<()> {
    let files = KIT.builder().filter_map(|file| {
        let of_package = file.path.strip_prefix("package/");
        let path = of_package.or((file.path == "types.d.ts").then_some(file.path))?;
        Some(KitFile { path, ..file })
    });
    kit::write_files(files, project, PACKAGE)?;
    kit::link(&format!("../{PACKAGE}"), project, "node_modules/toolhost")
}

/// Returns the folder of the kit, with its packages installed.
async fn kit(options: BuildOptions<'_>) -> Result<PathBuf, BuildError> {
    check_node().await?;
    let install = async |folder: &Path| {
        let folder = folder.join("build");
        let what = "the kit for TypeScript";
        let _phase = options.progress.downloading(what, &folder, Some(KIT_BYTES));
        npm_ci(&folder).await
    };
    options.kit_cache.builder(KIT, install).await
}

/// Installs the packages of StarlingMonkey.
async fn starlingmonkey(kit: &Path, options: BuildOptions<'_>) -> Result<(), BuildError> {
    let install = async |folder: &Path| {
        let what = "the kit for StarlingMonkey";
        let about = Some(STARLINGMONKEY_BYTES);
        let _phase = options.progress.downloading(what, folder, about);
        let files = KIT.builder().filter_map(|file| {
            let path = file.path.strip_prefix(STARLINGMONKEY)?.strip_prefix('/')?;
            Some(KitFile { path, ..file })
        });
        kit::write_files(files, folder, "")?;
        npm_ci(folder).await
    };
    let folder = kit.join(STARLINGMONKEY);
    options.kit_cache.complete(folder, install).await.map(drop)
}

/// Installs the packages of a folder's lock file. Runs no scripts of the packages.
async fn npm_ci(folder: &Path) -> Result<(), BuildError> {
    let mut npm = process::program("npm");
    npm.args(["ci", "--omit=dev", "--ignore-scripts"])
        .args(["--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(folder);
    let output = process::run(&mut npm, GET_NODE).await?;
    if output.is_ok {
        return Ok(());
    }
    let fault = Fault::new("`npm ci --omit=dev` failed").detail(output.stderr_end());
    let next = "See that npm reaches its registry (`npm ping`), then build again.";
    Err(BuildError::machine(fault.next(next)))
}

async fn check_node() -> Result<(), BuildError> {
    let mut node = process::program("node");
    let output = process::run(node.arg("--version"), GET_NODE).await?;
    let version = output.stdout.trim();
    if is_supported(version) {
        return Ok(());
    }
    let what = format!("node is {version}; tools are built with Node {NODE} or newer");
    Err(BuildError::machine(Fault::new(what).next(GET_NODE)))
}

/// Whether the kit supports this version of Node, such as `v22.1.0`.
pub(super) fn is_supported(version: &str) -> bool {
    let major = version.trim_start_matches('v').split('.').next();
    let major = major.and_then(|major| major.parse::<u32>().ok());
    major.is_some_and(|major| major >= NODE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_that_names_the_package_gets_it_and_another_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let (bundle, entry) = (dir.path(), dir.path().join("src/index.ts"));
        let index = bundle.join("node_modules/toolhost/index.js");
        fs::write(bundle.join("package.json"), "{}").unwrap();
        update_package(&entry, bundle).unwrap();
        assert!(!bundle.join(".toolhost").exists());
        let template = Kit::of(Language::TypeScript).template();
        let mut package = template.filter(|file| file.path == "package.json");
        fs::write(bundle.join("package.json"), package.next().unwrap().bytes).unwrap();
        update_package(&entry, bundle).unwrap();
        for name in ["package.json", "types.d.ts", "index.js", "agents.js"] {
            assert!(index.with_file_name(name).is_file(), "{name}");
        }
        fs::write(&index, "old").unwrap();
        update_package(&entry, bundle).unwrap();
        assert!(fs::read_to_string(index).unwrap().contains("pending"));
    }
}

//! Builds the guests and installs their components.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::wasip2::{self, Compiler};
use crate::workspace::Workspace;
use crate::{bashkit, child, sources};

/// First bytes of a component; a core module has version 1 in layer 0 instead.
const COMPONENT_PREAMBLE: &[u8] = &[0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00];

/// One cargo workspace of guests.
struct GuestWorkspace {
    /// Folder of its Cargo.toml and Cargo.lock.
    dir: PathBuf,
    /// Folder whose sub-folders are the crates, each named as its package.
    crates: PathBuf,
    target_dir: PathBuf,
}

/// The hostile guests that the demo calls.
const HOSTILE_OF_DEMO: [&str; 2] = ["eat_memory", "spin_forever"];

/// Builds every guest to `target/guests/<name>.wasm`, and the examples into their bundles. A component is
/// replaced only if it differs.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let compiler = wasip2::setup(workspace)?;
    let started = Instant::now();
    let examples = GuestWorkspace::examples(workspace);
    let mut examples = examples.build(&compiler, &examples.package_names()?)?;
    bashkit::prepare(workspace)?;
    examples.extend(GuestWorkspace::shell(workspace).build(&compiler, &["bash".to_owned()])?);
    let hostile = GuestWorkspace::hostile(workspace);
    let hostile = hostile.build(&compiler, &hostile.package_names()?)?;
    install_beside_bundles(workspace, &examples)?;
    let all: Vec<&Component> = examples.iter().chain(&hostile).collect();
    remove_others(&all, &workspace.guests())?;
    let replaced = install(&all, &workspace.guests())?;
    println!(
        "guests: {} components in target/guests, {replaced} of them new, {:.1} s",
        all.len(),
        started.elapsed().as_secs_f64(),
    );
    sources::build_examples(workspace)
}

/// Builds the few guests that the demo calls, and leaves the others as they are.
pub(crate) fn build_for_demo(workspace: &Workspace, compiler: &Compiler) -> Result<()> {
    let examples = GuestWorkspace::examples(workspace);
    let manifest = read_manifest(&workspace.examples())?;
    let mut named = examples.package_names()?;
    named.retain(|name| is_entry(&manifest, name));
    let named = examples.build(compiler, &named)?;
    install(
        &named.iter().collect::<Vec<_>>(),
        &workspace.examples().join(".toolhost"),
    )?;
    let hostile = GuestWorkspace::hostile(workspace);
    let hostile = hostile.build(compiler, &HOSTILE_OF_DEMO.map(String::from))?;
    install(&hostile.iter().collect::<Vec<_>>(), &workspace.guests())?;
    Ok(())
}

/// Installs the entries of each Rust bundle in its folder: a bundle loads nothing from other folders.
fn install_beside_bundles(workspace: &Workspace, components: &[Component]) -> Result<()> {
    for bundle in [workspace.examples(), workspace.examples().join("base")] {
        let manifest = read_manifest(&bundle)?;
        let named: Vec<_> = components
            .iter()
            .filter(|component| is_entry(&manifest, &component.name))
            .collect();
        let dir = bundle.join(".toolhost");
        remove_others(&named, &dir)?;
        install(&named, &dir)?;
    }
    Ok(())
}

fn read_manifest(bundle: &Path) -> Result<String> {
    let manifest = bundle.join("goondan.yaml");
    fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))
}

/// Returns whether a component is an entry of a manifest.
fn is_entry(manifest: &str, component: &str) -> bool {
    let entry = format!("entry: ./.toolhost/{component}.wasm");
    manifest.lines().any(|line| line.trim() == entry)
}

/// A built component.
struct Component {
    /// Name of its package.
    name: String,
    bytes: Vec<u8>,
}

impl GuestWorkspace {
    fn examples(workspace: &Workspace) -> Self {
        Self {
            dir: workspace.examples(),
            crates: workspace.examples().join("rust"),
            target_dir: workspace.root().join("target/guests-build/rust"),
        }
    }

    /// The tool `bash` is not one of the workspace of examples: these need no patched crate.
    fn shell(workspace: &Workspace) -> Self {
        let examples = Self::examples(workspace);
        let dir = examples.crates.join("bash");
        Self { dir, ..examples }
    }

    fn hostile(workspace: &Workspace) -> Self {
        Self {
            dir: workspace.root().join("tests/guests"),
            crates: workspace.root().join("tests/guests"),
            target_dir: workspace.root().join("target/guests-build/rust"),
        }
    }

    fn build(&self, compiler: &Compiler, packages: &[String]) -> Result<Vec<Component>> {
        let mut cargo = child::guest_cargo(&self.dir);
        compiler.choose_for(&mut cargo);
        cargo.args([
            "build",
            "--release",
            "--target",
            wasip2::TARGET,
            "--target-dir",
        ]);
        cargo.arg(&self.target_dir);
        for package in packages {
            cargo.args(["--package", package]);
        }
        child::run(&mut cargo)?;
        packages
            .iter()
            .map(|name| Component::read(name.clone(), &self.target_dir))
            .collect()
    }

    /// Lists the crates of the workspace that become components: those with the type `cdylib`.
    fn package_names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.crates)
            .with_context(|| format!("cannot list {}", self.crates.display()))?
        {
            let entry = entry?;
            let manifest = match fs::read_to_string(entry.path().join("Cargo.toml")) {
                Ok(manifest) => manifest,
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
                {
                    continue;
                }
                Err(error) => return Err(error).context("cannot read a guest's Cargo.toml"),
            };
            if manifest.contains("\"cdylib\"") && !manifest.contains("[workspace]") {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }
}

impl Component {
    /// Reads what cargo built of a package.
    fn read(name: String, target_dir: &Path) -> Result<Self> {
        let file = format!("{}/release/{}.wasm", wasip2::TARGET, name.replace('-', "_"));
        let bytes = fs::read(target_dir.join(&file)).with_context(|| {
            format!("guest {name}: no {file} was built; is its package named as its folder?")
        })?;
        if !bytes.starts_with(COMPONENT_PREAMBLE) {
            bail!("guest {name}: {file} is not a component");
        }
        Ok(Self { name, bytes })
    }
}

/// Removes the components in `dir` that are not among these.
fn remove_others(components: &[&Component], dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry?.path();
        let is_component = path
            .extension()
            .is_some_and(|extension| extension == "wasm");
        let stem = path.file_stem().unwrap_or_default();
        if is_component && !components.iter().any(|kept| stem == kept.name.as_str()) {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

/// Writes the components that differ from those in `dir`, and returns their number.
fn install(components: &[&Component], dir: &Path) -> Result<usize> {
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let mut written = 0;
    for component in components {
        let path = dir.join(format!("{}.wasm", component.name));
        if fs::read(&path).is_ok_and(|bytes| bytes == component.bytes) {
            continue;
        }
        replace(&path, &component.bytes)
            .with_context(|| format!("cannot write {}", path.display()))?;
        written += 1;
    }
    Ok(written)
}

/// Writes another file and renames it, so that a reader gets the old component or the new one.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let unfinished = path.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&unfinished, bytes)?;
    fs::rename(&unfinished, path)
}

#[cfg(test)]
mod tests {
    use super::{Component, install, is_entry, remove_others};

    #[test]
    fn writes_components_that_differ_and_removes_the_others() {
        let dir = std::env::temp_dir().join(format!("xtask-install-{}", std::process::id()));
        let component = |name: &str, bytes: &[u8]| Component {
            name: name.into(),
            bytes: bytes.into(),
        };
        let first = [component("a-b", b"1"), component("c", b"2")];
        let both: Vec<_> = first.iter().collect();
        assert_eq!(install(&both, &dir).unwrap(), 2);
        assert_eq!(install(&both, &dir).unwrap(), 0);
        let manifest = "spec:\n  entry: ./.toolhost/c.wasm\n";
        assert!(is_entry(manifest, "c"));
        assert!(!is_entry(manifest, "a-b"));
        let changed = component("a-b", b"3");
        remove_others(&[&changed], &dir).unwrap();
        assert_eq!(install(&[&changed], &dir).unwrap(), 1);
        let left: Vec<_> = std::fs::read_dir(&dir)
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect();
        assert_eq!(left, ["a-b.wasm"]);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

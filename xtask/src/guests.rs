//! Builds the guests and puts their components where they are looked for.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::wasip2::{self, Compiler};
use crate::workspace::Workspace;
use crate::{child, sources};

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

/// Builds every guest to `target/guests/<name>.wasm`, and the examples to where their bundles find
/// them. Cargo decides what has to be compiled again; a component is replaced only when it differs.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let compiler = wasip2::setup(workspace)?;
    let started = Instant::now();
    let examples = GuestWorkspace {
        dir: workspace.examples(),
        crates: workspace.examples().join("rust"),
        target_dir: workspace.root().join("target/guests-build/examples"),
    };
    let hostile = GuestWorkspace {
        dir: workspace.root().join("tests/guests"),
        crates: workspace.root().join("tests/guests"),
        target_dir: workspace.root().join("target/guests-build/tests"),
    };
    let example_components = examples.build(&compiler)?;
    let hostile_components = hostile.build(&compiler)?;

    // Beside each bundle: a bundle loads nothing from outside its own folder.
    for bundle in [workspace.examples(), workspace.examples().join("base")] {
        let manifest = bundle.join("goondan.yaml");
        let manifest = fs::read_to_string(&manifest)
            .with_context(|| format!("cannot read {}", manifest.display()))?;
        let named = named_in(&manifest, &example_components);
        install(&named, &bundle.join(".toolhost"))?;
    }
    let all: Vec<&Component> = example_components
        .iter()
        .chain(&hostile_components)
        .collect();
    let replaced = install(&all, &workspace.guests())?;
    println!(
        "guests: {} components in target/guests, {replaced} of them new, {:.1} s",
        all.len(),
        started.elapsed().as_secs_f64(),
    );
    sources::build_examples(workspace)
}

/// A built component.
struct Component {
    /// Name of its package.
    name: String,
    bytes: Vec<u8>,
}

impl GuestWorkspace {
    fn build(&self, compiler: &Compiler) -> Result<Vec<Component>> {
        let mut cargo = child::guest_cargo(&self.dir);
        compiler.choose_for(&mut cargo);
        cargo.args([
            "build",
            "--release",
            "--target",
            wasip2::TARGET,
            "--target-dir",
        ]);
        child::run(cargo.arg(&self.target_dir))?;
        self.package_names()?
            .into_iter()
            .map(|name| Component::read(name, &self.target_dir))
            .collect()
    }

    /// Lists the crates that become components: those that are a `cdylib`, not the glue they share.
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
            if manifest.contains("\"cdylib\"") {
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

/// Returns the components that are entries of a manifest.
fn named_in<'c>(manifest: &str, components: &'c [Component]) -> Vec<&'c Component> {
    let is_named = |component: &&Component| {
        let entry = format!("entry: ./.toolhost/{}.wasm", component.name);
        manifest.lines().any(|line| line.trim() == entry)
    };
    components.iter().filter(is_named).collect()
}

/// Makes `dir` hold exactly these components and returns how many were written.
fn install(components: &[&Component], dir: &Path) -> Result<usize> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let known = components.iter().any(|it| {
            path.file_stem()
                .is_some_and(|stem| stem == it.name.as_str())
        });
        if !known
            && path
                .extension()
                .is_some_and(|extension| extension == "wasm")
        {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
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

/// Writes beside the file and renames, so that a reader sees the old component or the new one.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let unfinished = path.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&unfinished, bytes)?;
    fs::rename(&unfinished, path)
}

#[cfg(test)]
mod tests {
    use super::{Component, install, named_in};

    #[test]
    fn installs_what_differs_and_removes_what_is_gone() {
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
        let named = named_in(manifest, &first);
        assert_eq!(named.len(), 1);
        assert_eq!(install(&[&component("a-b", b"3")], &dir).unwrap(), 1);
        let left: Vec<_> = std::fs::read_dir(&dir)
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect();
        assert_eq!(left, ["a-b.wasm"]);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

//! Builds Rust with cargo for `wasm32-wasip2`, with a copy of the SDK in the package.

mod argument;
mod cargo_messages;
mod handlers;
mod shape;
mod source;
mod target;
mod types;

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Error, Result};
use toolhost_manifest::bundle::built::Language;

use super::build_error::{BuildError, ErrorCause, Fault};
use super::job::{BuildOptions, BuiltComponent, TargetDir};
use super::kit::{self, Kit, sync_folder};
use super::process::{self, ProcessOutput};
use crate::{environment, files};
use cargo_messages::Messages;
use source::{SDK, Sources};
pub(super) use target::{GET_RUST, TARGET, get_target};

/// The extension of the file beside a component that has the path of its package's manifest.
const OWNER: &str = "manifest";

pub(super) async fn build(
    manifest: &Path,
    options: BuildOptions<'_>,
) -> Result<BuiltComponent, BuildError> {
    let package = manifest.parent().unwrap_or(Path::new("/"));
    let text = fs::read_to_string(manifest).context("Cargo.toml cannot be read")?;
    if text.contains(&format!("\"{SDK}\"")) {
        write_sdk(package)?;
    }
    let (target_dir, lock) = target_dir(options).await?;
    let target_dir = target_dir.as_deref();
    remove_others(target_dir, manifest)?;
    let mut cargo = target::cargo(package, manifest, target_dir);
    let started = SystemTime::now();
    let output = process::run(&mut cargo, GET_RUST).await?;
    let messages = Messages::parse(&output.stdout);
    if !output.is_ok {
        return Err(build_error(package, &messages, &output));
    }
    let Some(component) = messages.component(manifest) else {
        let fault = Fault::new("the package is not a component: its library is not a `cdylib`");
        let next = "Write `crate-type = [\"cdylib\"]` under `[lib]`.";
        return Err(BuildError::source(fault.file("Cargo.toml").next(next)));
    };
    note_owner(&component, manifest)?;
    let inputs = inputs(&component, &messages)?;
    refuse_outside_data(&inputs, &messages, options.bundle)?;
    let mut notes = messages.warnings();
    let component = fs::read(&component).context("cargo wrote no component")?;
    let remarks = Sources::with(package, &inputs, |sources| {
        let mut notes = types::check(sources);
        notes.extend(handlers::unlisted(sources));
        (handlers::unserved(sources), notes)
    });
    let (unserved, of_sources) = remarks.unwrap_or_default();
    // A macro of the author's may write `handlers!`: the component tells.
    if let Some(fault) = unserved.filter(|_| !handlers::are_served(&component)) {
        return Err(BuildError::source(fault));
    }
    notes.extend(of_sources);
    let component = BuiltComponent {
        component,
        inputs,
        started,
        notes,
        // The component tells.
        exports: None,
    };
    drop(lock);
    Ok(component)
}

/// Checks that rustc has the target. Returns the names of the handlers, if they are written out in `src/lib.rs`.
pub(super) async fn check(
    manifest: &Path,
    options: BuildOptions<'_>,
) -> Result<Option<Vec<String>>, BuildError> {
    let package = manifest.parent().unwrap_or(Path::new("/"));
    let (target_dir, lock) = target_dir(options).await?;
    target::check(package, target_dir.as_deref(), options.kit_cache).await?;
    drop(lock);
    Ok(handlers::find(package))
}

/// Puts a problem with a default of an export, at a JSON pointer, at its place in these sources.
pub(super) fn at_argument(
    manifest: &Path,
    sources: &[PathBuf],
    (export, pointer): (&str, &str),
    fault: Fault,
) -> Fault {
    let package = manifest.parent().unwrap_or(Path::new("/"));
    let place = |sources: &Sources| argument::place(sources, export, pointer, fault.clone());
    let placed = Sources::with(package, sources, place);
    placed.unwrap_or(fault)
}

/// Returns the target directory, locked, unless the environment names it. Packages may give their components
/// the same name: each is read before the next build starts.
async fn target_dir(
    options: BuildOptions<'_>,
) -> Result<(Option<PathBuf>, Option<files::FileLock>)> {
    if options.target_dir == TargetDir::FromEnvironment {
        return Ok((None, None));
    }
    let folder = options.kit_cache.folder("cargo")?;
    let lock = files::lock(&folder.join("lock")).await?;
    Ok((Some(folder), Some(lock)))
}

/// Removes the components of other packages from a target directory. Cargo gives those with the same name of the library
/// the same file, and takes it for that of a package that has not changed since it was built.
fn remove_others(target_dir: Option<&Path>, manifest: &Path) -> Result<()> {
    let package = manifest.parent().unwrap_or(Path::new("/"));
    let Some(target_dir) = target_dir.map(Path::to_owned).or_else(|| {
        let variable = environment::value("CARGO_TARGET_DIR")?;
        Some(package.join(variable))
    }) else {
        return Ok(());
    };
    let folder = target_dir.join(TARGET).join("release/deps");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let cannot = format!("{} cannot be read", folder.display());
            return Err(Error::new(error).context(cannot));
        }
    };
    for entry in entries {
        let path = entry?.path();
        let owner = fs::read(path.with_extension(OWNER));
        let is_own = owner.is_ok_and(|owner| owner == manifest.as_os_str().as_bytes());
        let is_component = path.extension().is_some_and(|it| it == "wasm");
        if is_component && !is_own && path.file_stem() != Some(OsStr::new(target::PROBE)) {
            fs::remove_file(&path)
                .with_context(|| format!("{} cannot be removed", path.display()))?;
        }
    }
    Ok(())
}

/// Notes whose component this is.
fn note_owner(component: &Path, manifest: &Path) -> Result<()> {
    let folder = component.parent().unwrap_or(Path::new("/")).join("deps");
    let name = component.file_name().unwrap_or_default();
    let path = folder.join(name).with_extension(OWNER);
    fs::write(&path, manifest.as_os_str().as_bytes())
        .with_context(|| format!("{} cannot be written", path.display()))
}

/// Writes the SDK and the contract into a package.
pub(crate) fn write_sdk(package: &Path) -> Result<()> {
    let files: Vec<_> = Kit::of(Language::Rust).builder().collect();
    sync_folder(files.iter().copied(), package, SDK)?;
    let files: Vec<_> = kit::contract().collect();
    sync_folder(files.iter().copied(), package, ".toolhost/wit")
}

fn build_error(package: &Path, messages: &Messages, output: &ProcessOutput) -> BuildError {
    if let Some(missing) = target::missing(messages, output) {
        return missing;
    }
    let faults = handlers::explained(package, messages.errors());
    if !faults.is_empty() {
        return BuildError {
            cause: ErrorCause::Source,
            faults,
        };
    }
    // Cargo itself failed: it cannot read a manifest, or find or download a package.
    let end = output.stderr_end();
    let mut lines = end.lines();
    let message = lines.find_map(|line| line.strip_prefix("error: "));
    let message = message.unwrap_or("cargo failed").to_owned();
    let rest: Vec<&str> = lines.collect();
    let fault = Fault::new(format!("cargo: {message}")).detail(rest.join("\n"));
    BuildError::source(fault.next("Correct Cargo.toml; see that cargo reaches its registry."))
}

/// Lists the source files: those of the package and of packages it names by path, and their manifests, but not files
/// that the build wrote.
fn inputs(component: &Path, messages: &Messages) -> Result<Vec<PathBuf>> {
    let list = component.with_extension("d");
    let list =
        fs::read_to_string(&list).with_context(|| format!("cargo wrote no {}", list.display()))?;
    let mut inputs = cargo_messages::sources_of(&list);
    // TARGET_DIR/wasm32-wasip2/release/NAME.wasm
    if let Some(target_dir) = component.ancestors().nth(3) {
        inputs.retain(|input| !input.starts_with(target_dir));
    }
    inputs.extend(messages.local_manifests());
    inputs.sort();
    inputs.dedup();
    Ok(inputs)
}

/// Refuses data that a source includes from outside the bundle's directory and the packages named by their paths:
/// it could be any file that the user may read. A build script, which only the author writes, may list such files
/// for cargo.
fn refuse_outside_data(
    inputs: &[PathBuf],
    messages: &Messages,
    bundle: &Path,
) -> Result<(), BuildError> {
    if messages.has_local_script() {
        return Ok(());
    }
    let packages = messages.local_manifests();
    let packages = packages.filter_map(|manifest| manifest.parent()?.canonicalize().ok());
    let folders: Vec<PathBuf> = packages.chain([bundle.to_owned()]).collect();
    let is_code = |input: &Path| {
        let extension = input.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("rs" | "wit"))
    };
    for input in inputs {
        // A source may name it through a link or `..`.
        let real = input.canonicalize().unwrap_or_else(|_| input.clone());
        if !is_code(&real) && !folders.iter().any(|folder| real.starts_with(folder)) {
            let what = format!(
                "{} is outside the folder of the bundle, and a source includes it",
                real.display()
            );
            let next = "Copy the file into the folder of the bundle, and include it from there.";
            return Err(BuildError::source(Fault::new(what).next(next)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_outside_the_bundle_and_its_packages_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let at = |path: &str| top.join(path);
        for path in [
            "bundle/src/lib.rs",
            "bundle/data.txt",
            "shared/src/lib.rs",
            "shared/words.txt",
            "elsewhere/code.rs",
            "elsewhere/tool.wit",
            "elsewhere/id_rsa",
        ] {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), "").unwrap();
        }
        std::os::unix::fs::symlink(at("elsewhere/id_rsa"), at("bundle/link.txt")).unwrap();
        let artifact = |folder: &str| {
            let (id, manifest) = (
                format!("path+file:///{folder}#1"),
                at(folder).join("Cargo.toml"),
            );
            serde_json::json!({"reason": "compiler-artifact", "package_id": id, "manifest_path": manifest,
                "target": {"crate_types": ["lib"]}, "filenames": []})
        };
        let local = format!("{}\n{}\n", artifact("bundle"), artifact("shared"));
        let script = |id: &str| {
            format!("{local}{{\"reason\":\"build-script-executed\",\"package_id\":\"{id}\"}}\n")
        };
        let is_refused = |stdout: &str, path: &str| {
            let inputs = [at("bundle/src/lib.rs"), at(path)];
            refuse_outside_data(&inputs, &Messages::parse(stdout), &at("bundle")).is_err()
        };
        for path in [
            "elsewhere/id_rsa",
            "bundle/../elsewhere/id_rsa",
            "bundle/link.txt",
        ] {
            assert!(is_refused(&local, path), "{path}");
            assert!(
                is_refused(&script("registry+https://x#y@1"), path),
                "{path}"
            );
            assert!(
                !is_refused(&script("path+file:///bundle#1"), path),
                "{path}"
            );
        }
        assert!(is_refused(&local, "/proc/self/environ"));
        for path in [
            "bundle/data.txt",
            "shared/words.txt",
            "elsewhere/code.rs",
            "elsewhere/tool.wit",
        ] {
            assert!(!is_refused(&local, path), "{path}");
        }
    }
}

//! Python: componentize-py, by `guest-sdk/python`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use tokio::process::Command;
use toolhost::bundle::built::{Language, Source};

use super::build_error::{BuildError, Fault};
use super::job::{BuildJob, BuiltComponent};
use super::kit::{self, Kit, KitFile};
use super::kit_cache::{KitCache, contract_dir};
use super::kit_reply::Answer;
use super::process;
use crate::terminal::progress::Progress;

const KIT: Kit = Kit::of(Language::Python);

const GET_PYTHON: &str = "Install Python 3.10 or newer: https://www.python.org";

/// Most folders beneath one another that a package is followed into.
const DEPTH_MAX: usize = 32;

/// Builds a module with `handlers`.
pub(super) async fn build(job: &BuildJob<'_>) -> Result<BuiltComponent, BuildError> {
    let nothing_more = async |_: &Path| Ok::<_, BuildError>(());
    let kit = job.kit_cache.builder(KIT, nothing_more).await?;
    let python = interpreter(&kit, job.kit_cache, job.progress).await?;
    lay_out_types(job.entry)?;
    let out = tempfile::tempdir_in(job.kit_cache.folder("out")?);
    let out = out.context("there is no room to build in")?;
    let out = out.path().join("tool.wasm");
    let mut build = Command::new(python);
    build
        .arg(kit.join("build.py"))
        .arg("--entry")
        .arg(job.entry)
        .arg("--out")
        .arg(&out)
        .arg("--wit")
        .arg(contract_dir(&kit))
        .arg("--work")
        .arg(job.kit_cache.folder("python-packages")?)
        .arg("--json")
        // The kit's own folder stays as it was laid out.
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let started = SystemTime::now();
    let said = process::run_installed(&mut build, GET_PYTHON).await?;
    let made = Answer::of(&said, "Python")?.made(&out, started)?;
    let inputs = inputs(job.entry)?;
    Ok(BuiltComponent { inputs, ..made })
}

/// A Python with what the kit needs, in an environment of its own.
async fn interpreter(
    kit: &Path,
    kit_cache: &KitCache,
    progress: &Progress,
) -> Result<PathBuf, BuildError> {
    let check = "import sys; sys.exit(sys.version_info < (3, 10))";
    let mut python = Command::new("python3");
    let said = process::run_installed(python.args(["-c", check]), GET_PYTHON).await?;
    if !said.is_ok() {
        let what = "python3 is older than 3.10, which tools are built with";
        return Err(BuildError::machine(Fault::new(what).next(GET_PYTHON)));
    }
    let requirements = kit.join("requirements.txt");
    let fill = async |folder: &Path| {
        progress.working("getting what builds Python, once");
        let mut venv = Command::new("python3");
        let said =
            process::run_installed(venv.args(["-m", "venv"]).arg(folder), GET_PYTHON).await?;
        if !said.is_ok() {
            let fault = Fault::new("python3 cannot make a virtual environment");
            let said = format!("{}\n{}", said.stdout.trim(), said.end());
            let next = "On Debian and Ubuntu: apt install python3-venv";
            return Err(BuildError::machine(fault.detail(said).next(next)));
        }
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args([
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--quiet",
        ])
        .args(["--require-hashes", "--only-binary=:all:", "-r"])
        .arg(&requirements);
        let said = process::run_installed(&mut pip, GET_PYTHON).await?;
        if said.is_ok() {
            return Ok(());
        }
        let fault = Fault::new("`pip install` of componentize-py failed").detail(said.end());
        let next =
            "See that pip reaches its index (PIP_INDEX_URL names another), then build again.";
        Err(BuildError::machine(fault.next(next)))
    };
    let digest = Source::new(
        "",
        &fs::read(&requirements).context("the kit is not whole")?,
    )
    .sha256;
    let name = digest.get(..16).unwrap_or(&digest);
    let venv = kit_cache.folder("python-venvs")?.join(name);
    let venv = kit_cache.complete(venv, fill).await?;
    Ok(venv.join("bin/python"))
}

/// Lays out the types of `toolhost`, for editors.
fn lay_out_types(entry: &Path) -> Result<()> {
    let Some(folder) = entry.parent() else {
        return Ok(());
    };
    // Only where somebody asks for them.
    let asks = fs::read_to_string(folder.join("pyrightconfig.json"));
    if !asks.is_ok_and(|text| text.contains(".toolhost/sdk/python")) {
        return Ok(());
    }
    write_editor_types(folder)
}

/// Lays out what an editor needs beneath a project's folder.
pub(crate) fn write_editor_types(project: &Path) -> Result<()> {
    let types = KIT.builder();
    let types = types.filter_map(|file| {
        let path = file.path.strip_prefix("sdk/")?;
        path.starts_with("toolhost/")
            .then_some(KitFile { path, ..file })
    });
    kit::write_files(types, project, ".toolhost/sdk/python")
}

/// What goes into the component: the modules and packages beside the entry, and `requirements.txt`.
fn inputs(entry: &Path) -> Result<Vec<PathBuf>> {
    let mut inputs = vec![entry.to_owned()];
    let Some(folder) = entry.parent() else {
        return Ok(inputs);
    };
    for path in listed(folder)? {
        let is_module = path.extension().is_some_and(|ending| ending == "py") && path.is_file();
        let is_requirements = path
            .file_name()
            .is_some_and(|name| name == "requirements.txt");
        if path.join("__init__.py").is_file() {
            collect(&path, DEPTH_MAX, &mut inputs)?;
        } else if (is_module || is_requirements) && path != entry {
            inputs.push(path);
        }
    }
    Ok(inputs)
}

fn collect(folder: &Path, depth: usize, inputs: &mut Vec<PathBuf>) -> Result<()> {
    for path in listed(folder)? {
        if path.is_dir() && depth > 0 {
            collect(&path, depth - 1, inputs)?;
        } else if path.is_file() {
            inputs.push(path);
        }
    }
    Ok(())
}

/// What is in a folder and may be part of a tool.
fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder);
    let entries = entries.with_context(|| format!("{} cannot be listed", folder.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with('.') && name != "__pycache__" {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

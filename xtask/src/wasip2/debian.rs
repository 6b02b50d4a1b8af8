//! A rustc with the wasm standard library from Debian's packages, beneath one folder.
//!
//! For machines on which rustup may not fetch. Debian packages the wasm standard library for its
//! own rustc, so both come from there; the linkers, which Debian leaves out, are borrowed from the
//! toolchain that is already here. The compiler runs on the C library of its own suite, unpacked
//! beside it, so that an older Debian serves as well. Nothing is installed outside the folder.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use super::target::TARGET;
use crate::apt::{Apt, KEYRING};
use crate::{child, whole_folder};

/// Suites from new to old. The first one whose rustc and wasm standard library agree is taken: in
/// the moving suites one may lag behind the other for days.
const SUITES: [&str; 3] = ["forky", "sid", "trixie"];

const HOST: &str = "x86_64-unknown-linux-gnu";

/// Where Debian puts libraries of this architecture, the C library's loader among them.
const LIBS: &str = "usr/lib/x86_64-linux-gnu";
const LOADER: &str = "ld-linux-x86-64.so.2";

/// Linkers by the name rustc looks for, and where a rustup toolchain has them.
const LINKERS: [(&str, &str); 3] = [
    ("wasm-component-ld", "wasm-component-ld"),
    ("rust-lld", "rust-lld"),
    ("wasm-ld", "gcc-ld/wasm-ld"),
];

/// Programs the installation calls, and how to get one that is missing.
const PROGRAMS: [(&str, &str); 4] = [
    (
        "apt-get",
        "this needs Debian or Ubuntu; elsewhere run `rustup target add wasm32-wasip2`",
    ),
    ("apt-cache", "run `apt-get install apt`"),
    ("dpkg-deb", "run `apt-get install dpkg`"),
    ("gcc", "run `apt-get install gcc libc6-dev`"),
];

/// Written last; holds the compiler's version.
const MARKER: &str = "installed";

/// Returns the version of the compiler beneath `prefix`, if there is one that works.
pub(super) fn installed(prefix: &Path) -> Option<String> {
    let version = fs::read_to_string(prefix.join(MARKER)).ok()?;
    let linkers = prefix.join(format!("usr/lib/rustlib/{HOST}/bin"));
    let linked = LINKERS.iter().all(|(name, _)| linkers.join(name).exists());
    let runs = child::works(Command::new(prefix.join("bin/rustc")).arg("-V"));
    (linked && runs).then(|| version.trim().to_owned())
}

/// Fills `prefix` and returns the compiler's version.
///
/// It is done once the compiler has compiled a component.
///
/// # Errors
/// What is missing on this machine, each with the command that fixes it; or the step that failed.
pub(super) fn install(prefix: &Path, sysroot: &Path) -> Result<String> {
    check_prerequisites(sysroot)?;
    whole_folder::fill(
        prefix,
        || installed(prefix),
        |unfinished| fill(unfinished, sysroot),
    )
}

fn check_prerequisites(sysroot: &Path) -> Result<()> {
    let mut missing = Vec::new();
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        missing.push(format!(
            "this works on x86-64 Linux only: run `rustup target add {TARGET}`"
        ));
    }
    for (program, remedy) in PROGRAMS {
        if !child::works(Command::new(program).arg("--version")) {
            missing.push(format!("{program} is missing: {remedy}"));
        }
    }
    if !Path::new(KEYRING).exists() {
        missing.push(format!(
            "{KEYRING} is missing: run `apt-get install debian-archive-keyring`"
        ));
    }
    for (name, place) in LINKERS {
        if !linkers_of(sysroot).join(place).exists() {
            missing.push(format!(
                "the Rust toolchain has no {name}: install Rust from https://rustup.rs"
            ));
        }
    }
    ensure!(missing.is_empty(), "{}", missing.join("\n       "));
    Ok(())
}

fn fill(prefix: &Path, sysroot: &Path) -> Result<String> {
    let downloads = prefix.join("downloads");
    let (apt, suite) = choose_suite(&downloads)?;
    let std = apt.dependency("libstd-rust-dev", "libstd-rust-")?;
    let llvm = apt.dependency(&std, "libllvm")?;
    println!(
        "setup: downloading rustc {} from {suite}",
        apt.version("rustc")?.unwrap_or_default()
    );

    let named = [
        "rustc",
        &std,
        "libstd-rust-dev",
        "libstd-rust-dev-wasm32",
        &llvm,
    ];
    let compiler: Vec<String> = named.into_iter().map(String::from).collect();
    apt.unpack(&compiler, prefix)?;
    let mut c_library = apt.closure(&std)?;
    c_library.retain(|package| *package != std && *package != llvm);
    apt.unpack(&c_library, &prefix.join("rt"))?;

    write_launcher(prefix, "rustc")?;
    link_linkers(prefix, sysroot)?;
    prove(prefix, &downloads)?;
    fs::remove_dir_all(&downloads).context("cannot remove the downloads")?;
    let version = child::read(Command::new(prefix.join("bin/rustc")).arg("-V"))?;
    fs::write(prefix.join(MARKER), &version).context("cannot write the marker")?;
    Ok(version.trim().to_owned())
}

/// Opens the first suite in which rustc and the wasm standard library are of one version.
fn choose_suite(downloads: &Path) -> Result<(Apt, &'static str)> {
    for suite in SUITES {
        let apt = Apt::open(downloads.join(suite), suite)?;
        let rustc = apt.version("rustc")?;
        if rustc.is_some() && rustc == apt.version("libstd-rust-dev-wasm32")? {
            return Ok((apt, suite));
        }
        println!("setup: {suite}: the wasm standard library is not of rustc's version");
    }
    bail!("no Debian suite has a rustc and a wasm standard library of one version")
}

/// Writes a program that starts Debian's on Debian's own C library. It finds both from its own
/// place, so the folder can be moved.
fn write_launcher(prefix: &Path, program: &str) -> Result<()> {
    let loader = prefix.join("rt").join(LIBS).join(LOADER);
    ensure!(
        loader.exists(),
        "Debian's C library has no {LOADER} in {LIBS}"
    );
    let script = format!(
        "#!/bin/sh\n\
         here=$(cd \"${{0%/*}}/..\" && pwd)\n\
         exec \"$here/rt/{LIBS}/{LOADER}\" --argv0 {program} \
         --library-path \"$here/rt/{LIBS}:$here/{LIBS}\" \"$here/usr/bin/{program}\" \"$@\"\n"
    );
    let launcher = prefix.join("bin").join(program);
    fs::create_dir_all(prefix.join("bin")).context("cannot make bin")?;
    fs::write(&launcher, script).context("cannot write a launcher")?;
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755))
        .context("cannot make a launcher runnable")
}

fn link_linkers(prefix: &Path, sysroot: &Path) -> Result<()> {
    let bin = prefix.join(format!("usr/lib/rustlib/{HOST}/bin"));
    fs::create_dir_all(&bin).context("cannot make the folder for linkers")?;
    for (name, place) in LINKERS {
        let link = bin.join(name);
        // Should a later Debian bring its own, it is left alone.
        if !link.exists() {
            symlink(linkers_of(sysroot).join(place), link).context("cannot link a linker")?;
        }
    }
    Ok(())
}

fn linkers_of(sysroot: &Path) -> PathBuf {
    sysroot.join(format!("lib/rustlib/{HOST}/bin"))
}

/// Compiles a component that uses files, and a program for this machine, as build scripts are.
fn prove(prefix: &Path, scratch: &Path) -> Result<()> {
    let rustc = || Command::new(prefix.join("bin/rustc"));
    let (guest, component) = (scratch.join("guest.rs"), scratch.join("guest.wasm"));
    fs::write(
        &guest,
        "fn main() { println!(\"{:?}\", std::fs::read(\"/x\")); }",
    )
    .context("cannot write a proof")?;
    child::run(
        rustc()
            .args(["--target", TARGET, "-o"])
            .arg(&component)
            .arg(&guest),
    )
    .context("the new compiler does not compile components")?;
    let (host, program) = (scratch.join("host.rs"), scratch.join("host"));
    fs::write(&host, "fn main() {}").context("cannot write a proof")?;
    child::run(rustc().arg("-o").arg(&program).arg(&host))
        .and_then(|()| child::run(&mut Command::new(&program)))
        .context(
            "the new compiler does not compile for this machine; `gcc` and `libc6-dev` are needed",
        )
}

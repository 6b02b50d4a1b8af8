//! Runs child processes.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// Variables that `cargo run` sets for xtask, and that a cargo started by xtask must not see.
const OF_CARGO_RUN: [&str; 4] = [
    "CARGO_PKG_",
    "CARGO_MANIFEST_",
    "CARGO_CRATE_",
    "CARGO_BIN_",
];

/// Variables that change how cargo compiles. They apply to the host, not to guests.
const OF_THE_HOST_BUILD: [&str; 8] = [
    "RUSTC",
    "RUSTDOC",
    "RUSTFLAGS",
    "CARGO_BUILD_",
    "CARGO_ENCODED_",
    "CARGO_INCREMENTAL",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
];

/// Returns a cargo for this workspace's own crates, to be run in `dir`.
pub(crate) fn cargo(dir: &Path) -> Command {
    cargo_without(dir, &OF_CARGO_RUN)
}

/// Returns a cargo for guests and for other workspaces than the host's, without the variables for the host's compiler.
/// What it builds is not edited and not debugged, so that it is without the data for that, which takes gigabytes.
pub(crate) fn guest_cargo(dir: &Path) -> Command {
    let unwanted: Vec<&str> = OF_CARGO_RUN.into_iter().chain(OF_THE_HOST_BUILD).collect();
    let mut cargo = cargo_without(dir, &unwanted);
    cargo.envs([("CARGO_INCREMENTAL", "0"), ("CARGO_PROFILE_DEV_DEBUG", "0")]);
    cargo
}

/// Returns a program that runs cargo, to be run in `dir`.
pub(crate) fn around_cargo(program: &Path, dir: &Path) -> Command {
    without(Command::new(program), dir, &OF_CARGO_RUN)
}

fn cargo_without(dir: &Path, unwanted: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    without(Command::new(cargo), dir, unwanted)
}

fn without(mut command: Command, dir: &Path, unwanted: &[&str]) -> Command {
    command.current_dir(dir);
    for (name, _) in std::env::vars_os() {
        if starts_with_any(&name, unwanted) {
            command.env_remove(name);
        }
    }
    command
}

fn starts_with_any(name: &OsStr, prefixes: &[&str]) -> bool {
    name.to_str()
        .is_some_and(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)))
}

/// Runs a child to its end; its output goes to the terminal.
///
/// # Errors
/// The child could not be started, or did not exit with 0.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start `{}`", line(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", line(command));
    }
    Ok(())
}

/// Runs a child to its end beside others, and prints its output as a whole then.
///
/// # Errors
/// The child could not be started, or did not exit with 0.
pub(crate) fn run_apart(command: &mut Command) -> Result<()> {
    let ended = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{}`", line(command)))?;
    let mut output = ended.stdout;
    output.extend(ended.stderr);
    std::io::stdout()
        .write_all(&output)
        .context("stdout cannot be written")?;
    if !ended.status.success() {
        bail!("`{}` failed ({})", line(command), ended.status);
    }
    Ok(())
}

/// Runs a child to its end and returns what it wrote to stdout.
///
/// # Errors
/// As [`run`]; also output that is not UTF-8.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{}`", line(command)))?;
    if !output.status.success() {
        bail!("`{}` failed ({})", line(command), output.status);
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` printed something that is not UTF-8", line(command)))
}

/// Returns whether a program can be started and exits with 0; its output is dropped.
pub(crate) fn works(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Returns the command line, for messages.
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program());
    let words: Vec<OsString> = std::iter::once(program)
        .chain(command.get_args())
        .map(OsStr::to_os_string)
        .collect();
    words.join(OsStr::new(" ")).to_string_lossy().into_owned()
}

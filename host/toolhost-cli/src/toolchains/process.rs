//! Runs build programs.

use std::ffi::OsStr;
use std::io;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

use super::build_error::{BuildError, Fault};

/// Longest part of stderr in an error, in characters.
const STDERR_MAX: usize = 4_000;

#[derive(Debug)]
pub(super) struct ProcessOutput {
    pub(super) is_ok: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl ProcessOutput {
    /// The end of stderr, where programs write why they failed.
    pub(super) fn stderr_end(&self) -> String {
        let text = self.stderr.trim();
        let skip = text.chars().count().saturating_sub(STDERR_MAX);
        text.chars().skip(skip).collect()
    }
}

/// A folder that only the administrator writes.
const ROOT: &str = "/";

/// Returns a program that is started in the root folder. Python imports modules of the folder in which it is
/// started, and version managers obey files there; the user may have started the build in the folder of a bundle,
/// where an agent writes.
pub(super) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(ROOT);
    command
}

/// Runs a program to its end. `install` says how to install it if it is missing. Dropping the future
/// kills the program and its children.
pub(super) async fn run(command: &mut Command, install: &str) -> Result<ProcessOutput, BuildError> {
    let name = command.as_std().get_program().to_string_lossy();
    let name = name.into_owned();
    run_in_group(command).await.map_err(|error| {
        let message = if error.kind() == io::ErrorKind::NotFound {
            format!("`{name}` is not installed, or not in PATH")
        } else {
            format!("`{name}` cannot be started: {error}")
        };
        BuildError::machine(Fault::new(message).next(install))
    })
}

async fn run_in_group(command: &mut Command) -> io::Result<ProcessOutput> {
    let child = command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    let mut group = ProcessGroup(id.and_then(Pid::from_raw));
    let output = child.wait_with_output().await?;
    group.0 = None;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(ProcessOutput {
        is_ok: output.status.success(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    })
}

/// The process group of a program. Dropping it kills the group.
struct ProcessGroup(Option<Pid>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // The group may have ended already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

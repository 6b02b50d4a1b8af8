//! Runs the programs that build.

use std::io;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::build_error::{BuildError, Fault};

/// Longest part of what a program says that is passed on, in characters.
const SAID_MAX: usize = 4_000;

/// What a program said.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Said {
    pub(super) fn is_ok(&self) -> bool {
        self.code == Some(0)
    }

    /// The end of what it said on stderr, where its reason is.
    pub(super) fn end(&self) -> String {
        let said = self.stderr.trim();
        let skip = said.chars().count().saturating_sub(SAID_MAX);
        said.chars().skip(skip).collect()
    }
}

/// Runs a program to its end. Where this is dropped, the program and all it started are ended.
pub(super) async fn run(command: &mut Command) -> io::Result<Said> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let child = command.spawn()?;
    let mut group = Group::of(&child);
    let output = child.wait_with_output().await?;
    group.0 = None;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Said {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    })
}

/// The same, where a program that is missing is mended by `next`.
pub(super) async fn run_installed(command: &mut Command, next: &str) -> Result<Said, BuildError> {
    let name = command
        .as_std()
        .get_program()
        .to_string_lossy()
        .into_owned();
    run(command).await.map_err(|error| {
        let what = match error.kind() == io::ErrorKind::NotFound {
            true => format!("`{name}` is not installed, or not in PATH"),
            false => format!("`{name}` cannot be started: {error}"),
        };
        BuildError::machine(Fault::new(what).next(next))
    })
}

/// The processes that a program and its children are.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

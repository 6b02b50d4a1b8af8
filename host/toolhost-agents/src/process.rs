//! Instances in child processes, connected by their standard streams.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use async_trait::async_trait;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::{InstanceId, WorkerProcess, WorkerStreams, WorkerTransport};

/// A program that exchanges [`IpcMessage`](super::IpcMessage)s over its standard input and output, one
/// process for each instance. See [`child::serve`](super::child::serve).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProcessSetup {
    /// The program: an absolute path, since `PATH` is not searched.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment: nothing of the host's is passed on.
    pub env: BTreeMap<OsString, OsString>,
    /// Its working directory. Default: `/`.
    pub dir: PathBuf,
}

impl ProcessSetup {
    /// A program without arguments, with an empty environment, in `/`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            dir: PathBuf::from("/"),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Starts the program as the leader of a process group of its own. The group is killed when the
    /// process has ended, and when [`WorkerStreams::process`] is dropped. Needs a tokio runtime.
    ///
    /// # Errors
    /// Where the program cannot be started.
    pub fn spawn(&self) -> io::Result<WorkerStreams> {
        let mut command = Command::new(&self.program);
        let mut child = command
            .process_group(0)
            .args(&self.args)
            .env_clear()
            .envs(&self.env)
            .current_dir(&self.dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let pid = child.id().unwrap_or_default();
        let process = Box::new(ChildGuard::new(child));
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        Ok(WorkerStreams {
            pid,
            stdin: Box::new(stdin),
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            process,
        })
    }
}

impl WorkerTransport for ProcessSetup {
    fn start(&self, _instance: &InstanceId) -> io::Result<WorkerStreams> {
        self.spawn()
    }

    fn program(&self) -> Option<&Path> {
        Some(&self.program)
    }
}

/// A child process. When it has ended, or is dropped, its whole process group is killed.
#[derive(Debug)]
struct ChildGuard {
    child: Child,
    group: Option<Pid>,
}

impl ChildGuard {
    fn new(child: Child) -> Self {
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
        let group = pid.and_then(Pid::from_raw);
        Self { child, group }
    }

    /// Kills the group. Only once, right after the process ended: later the id may belong to another.
    fn kill_group(&mut self) {
        if let Some(group) = self.group.take() {
            // It fails if no process of the group is left.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

#[async_trait]
impl WorkerProcess for ChildGuard {
    async fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.wait().await.ok();
        self.kill_group();
        status
    }

    fn kill(&mut self) {
        self.kill_group();
    }
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        self.kill_group();
    }
}

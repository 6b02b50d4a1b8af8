//! How the orchestrator starts and reaches an instance that runs outside this process.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitStatus;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};
use toolhost_runtime::debug_fields;

use super::InstanceId;

/// Starts the workers of an agent, each of which takes the turns of one instance.
///
/// [`ProcessSetup`](super::ProcessSetup) starts a child process and uses its standard streams.
pub trait WorkerTransport: fmt::Debug + Send + Sync + 'static {
    /// Starts the worker of an instance.
    ///
    /// # Errors
    /// Where the worker cannot be started: [`Loss::NotStarted`](super::Loss::NotStarted).
    fn start(&self, instance: &InstanceId) -> io::Result<WorkerStreams>;

    /// Returns the program that [`Self::start`] runs on this machine, which must be an absolute path.
    /// Default: none.
    fn program(&self) -> Option<&Path> {
        None
    }
}

/// A worker that was started, and the streams to it. See [`child::serve`](super::child::serve) for the
/// protocol.
pub struct WorkerStreams {
    /// Identifies the worker in logs and errors: the id of its process.
    pub pid: u32,
    /// Takes the messages of the orchestrator, a line each.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// Gives the messages of the worker, a line each.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// Gives text that is logged.
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
    /// The worker itself.
    pub process: Box<dyn WorkerProcess>,
}

/// Keeps a worker running. Dropping it ends the worker at once.
#[async_trait]
pub trait WorkerProcess: fmt::Debug + Send {
    /// Waits until the worker has ended; none where its status is not known. Cancel safe.
    async fn ended(&mut self) -> Option<ExitStatus>;

    /// Ends the worker at once; [`Self::ended`] waits until it has ended. Default: nothing, so that only
    /// dropping it does.
    fn kill(&mut self) {}
}

debug_fields!(WorkerStreams, this => pid: this.pid, process: this.process);

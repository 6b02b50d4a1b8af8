//! Errors of calls, of loading a component, and of starting a sandbox.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toolhost_contract::{ExportName, JsonError};
use toolhost_files::NotPrivate;
use toolhost_runtime::TaskError;

/// Why a call has no outcome of its own.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// It was stopped at its deadline.
    #[error("it was stopped after its deadline of {} ms", .deadline.as_millis())]
    Timeout {
        /// The deadline.
        deadline: Duration,
    },
    /// It needed more memory than one call may use.
    #[error("it needed more than the {limit} bytes of memory a call may use")]
    OutOfMemory {
        /// The limit.
        limit: u64,
    },
    /// All calls together, or those of this component, use the host's memory for guests.
    #[error("the memory for running calls, or this tool's share of it, is used up")]
    MemoryExhausted,
    /// It trapped.
    #[error("it crashed: {reason}")]
    Trap {
        /// The message of the panic where there is one, else the kind of trap.
        reason: String,
    },
    /// It ended its process.
    #[error("it ended its process instead of answering, reporting {}{}", if *.status == 0 { "success" } else { "failure" }, .printed.iter().map(|line| format!(": {line}")).collect::<String>())]
    Exit {
        /// 0 for success, 1 for failure: WASI 0.2 has no other.
        status: i32,
        /// After a failure, the last line that it printed to stderr.
        printed: Option<String>,
    },
    /// Its answer is not valid JSON, not Unicode text, or not a valid handle.
    #[error("its answer {reason}")]
    InvalidOutput {
        /// What is wrong, such as `is not valid JSON: …`.
        reason: String,
    },
    /// Its answer is nested too deep.
    #[error("its answer is nested {depth} deep, at most {limit} is allowed")]
    OutputTooDeep {
        /// Its depth.
        depth: usize,
        /// The limit.
        limit: usize,
    },
    /// Its answer is made of too many values.
    #[error("its answer is made of {values} values, at most {limit} are allowed")]
    OutputTooMany {
        /// How many.
        values: u64,
        /// The limit.
        limit: u64,
    },
    /// Its answer is too large.
    #[error("its answer of {bytes} bytes exceeds the limit of {limit} bytes")]
    OutputTooLarge {
        /// Size of the answer.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// It passed more in one host call than is allowed, its answer included.
    #[error("it passed more than {limit} bytes to the host at once")]
    HostcallTooLarge {
        /// The limit.
        limit: usize,
    },
    /// A handle was polled or cancelled, but it does not export `goondan:tool/polling`.
    #[error("it gives no handles: it does not export goondan:tool/polling")]
    NoPolling,
    /// No call slot became free in time, or too many calls wait for one.
    #[error("it could not start: {reason}")]
    Busy {
        /// What was missing.
        reason: &'static str,
    },
    /// The engine failed.
    #[error("the host failed")]
    Host(#[source] wasmtime::Error),
    /// A part of the host panicked while the guest ran.
    #[error("the host panicked")]
    HostPanic,
}

/// For the JSON of an answer.
impl From<JsonError> for SandboxError {
    fn from(error: JsonError) -> Self {
        match error {
            JsonError::TooLarge { bytes, limit } => Self::OutputTooLarge { bytes, limit },
            JsonError::TooDeep { depth, limit } => Self::OutputTooDeep { depth, limit },
            JsonError::TooMany { values, limit } => Self::OutputTooMany { values, limit },
            JsonError::NotUtf8 { .. }
            | JsonError::ByteOrderMark
            | JsonError::LoneSurrogate { .. }
            | JsonError::LongInteger { .. }
            | JsonError::NotFinite { .. }
            | JsonError::Syntax { .. }
            | JsonError::Shape { .. } => Self::InvalidOutput {
                reason: error.to_string(),
            },
        }
    }
}

/// Why a component cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// Not a component.
    #[error("{0}")]
    NotAComponent(String),
    /// It exceeds one of the [`CompileLimits`](crate::CompileLimits).
    #[error("the component has {found} {what}, at most {limit} are allowed")]
    TooLarge {
        /// What exceeds the limit.
        what: &'static str,
        /// How much.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// It exports no `goondan:tool/handlers`.
    #[error("the component does not export goondan:tool/handlers; it exports {exports}")]
    NoHandlers {
        /// What it exports.
        exports: String,
    },
    /// It exports another version of an interface.
    #[error("the component exports {found}, but this host serves goondan:tool 2.0")]
    WrongVersion {
        /// The export.
        found: String,
    },
    /// It imports an interface that the host does not serve.
    #[error("the component imports {import}, which this host does not serve")]
    UnservedImport {
        /// The import.
        import: String,
    },
    /// It is built for a later version of WASI.
    #[error(
        "the component is built for WASI {version}: it imports {imports}; this host serves WASI 0.2"
    )]
    LaterWasi {
        /// The version, such as 0.3.
        version: String,
        /// The imports of this version.
        imports: String,
    },
    /// The types of an interface differ from those of the host.
    #[error("the component's interfaces differ from the host's: {reason}")]
    WrongShape {
        /// What differs.
        reason: String,
    },
    /// It could not be compiled.
    #[error("the component cannot be compiled: {reason}")]
    Compile {
        /// Why.
        reason: String,
    },
    /// It was not compiled in time.
    #[error("the component was not compiled within {} s", .limit.as_secs())]
    TooSlow {
        /// How long it may take.
        limit: Duration,
    },
    /// It waited too long while other components were compiled.
    #[error("the component waited {} s while other components were compiled", .limit.as_secs())]
    WaitedTooLong {
        /// How long it may wait.
        limit: Duration,
    },
    /// Compiling it needs too much memory.
    #[error("compiling the component takes more than {limit} bytes of memory")]
    OutOfMemory {
        /// How much it may take.
        limit: u64,
    },
    /// `describe` failed.
    #[error("describe failed: {0}")]
    Describe(#[source] SandboxError),
    /// `describe` returned an invalid name of a handler.
    #[error("describe names the handler {name:?}: {reason}")]
    HandlerName {
        /// The name.
        name: String,
        /// Why it is invalid.
        reason: String,
    },
    /// `describe` returned a handler twice.
    #[error("describe names the handler '{0}' twice")]
    HandlerTwice(ExportName),
    /// `describe` returned too much.
    #[error("describe answers {found} {what}, at most {limit} are allowed")]
    DescribeTooLarge {
        /// Handlers or bytes.
        what: &'static str,
        /// How many.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// The host failed, as by a missing thread or an unreadable file.
    #[error("the host failed while loading: {0}")]
    Host(String),
}

/// Why a sandbox cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxStartError {
    /// The engine refused its configuration.
    #[error("the engine cannot start: {0}")]
    Engine(String),
    /// The cache or its key cannot be used.
    #[error("the cache of compiled components cannot be used: {0}")]
    Cache(#[from] CacheError),
    /// A root certificate is invalid.
    #[error("a root certificate cannot be used: {0}")]
    Certificate(String),
    /// A thread could not be started.
    #[error("a thread cannot be started")]
    Thread(#[source] io::Error),
}

/// Why a cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// A file or directory cannot be made or read.
    #[error("{}: {source}", .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others could read or write it, or it is a link.
    #[error(transparent)]
    NotPrivate(NotPrivate),
    /// The key is invalid.
    #[error("{} is not a key of 32 bytes; delete it to make a new one", .0.display())]
    BadKey(PathBuf),
}

impl CacheError {
    pub(crate) fn of(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.downcast() {
            Ok(not_private) => Self::NotPrivate(not_private),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Self::BadKey(path),
            Err(source) => Self::Io { path, source },
        }
    }
}

impl From<TaskError> for SandboxError {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::NoThread => Self::Busy {
                reason: "the system has no thread for it",
            },
            TaskError::Panicked => Self::HostPanic,
        }
    }
}

//! Compiles in a process of its own, which has limits and can be ended. A thread has none and cannot.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit};
use wasmtime::Engine;

use crate::PrepareError;
use crate::engine::settings;
use crate::platform::{self, memory_file};
use toolhost_contract::text::printable;

/// Largest artifact a compiler may hand over, in bytes.
const ARTIFACT_MAX: u64 = 256 << 20;

/// Longest reason of a failure that is kept, in bytes.
const REASON_MAX: usize = 1 << 10;

/// Interval in which a compiler is checked: whether it has ended, and whether its caller still waits.
const POLL: Duration = Duration::from_millis(2);

/// A program that compiles components, each in a process of its own. Its `main` calls [`Compiler::run`].
///
/// The process has an empty environment, no files but the component and its answer, an address
/// space of [`address_space`](Self::address_space), and as many seconds of processor time as
/// [`CompileLimits`](crate::CompileLimits) allow. It is killed when its caller no longer waits. The host
/// signs and stores the artifact itself: the process never sees the key of the cache.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Compiler {
    /// The program, most simply this one: `/proc/self/exe`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Bytes of address space of one process. Default 4 GiB; a component of 20 MB takes about one.
    pub address_space: u64,
}

impl Compiler {
    /// A program with these arguments, and 4 GiB of address space.
    pub fn new(
        program: impl Into<PathBuf>,
        args: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            address_space: 4 << 30,
        }
    }

    /// Compiles the component on stdin, and writes the artifact or the reason of the failure to stdout.
    ///
    /// The exit code is 0 when the component was compiled.
    pub fn run() -> ExitCode {
        // Ends with its parent, at a low priority. Compiles also where the system refuses either.
        platform::end_with_parent();
        let _ = rustix::process::nice(10);
        let compiled = compile_stdin().map_err(|error| format!("{error:#}"));
        let (answer, code) = match &compiled {
            Ok(artifact) => (artifact.as_slice(), ExitCode::SUCCESS),
            Err(reason) => (reason.as_bytes(), ExitCode::FAILURE),
        };
        match io::stdout().write_all(answer) {
            Ok(()) => code,
            Err(_) => ExitCode::FAILURE,
        }
    }

    /// Compiles a component in a process while `is_awaited` returns true. Returns the artifact.
    pub(crate) fn compile(
        &self,
        component: &[u8],
        time: Duration,
        is_awaited: impl Fn() -> bool,
    ) -> Result<Vec<u8>, PrepareError> {
        let mut process = self.start(component, time).map_err(|error| {
            PrepareError::Host(format!("the compiler cannot be started: {error}"))
        })?;
        let failed = |error: io::Error| PrepareError::Host(error.to_string());
        match process.wait(is_awaited).map_err(failed)? {
            Some(status) if status.success() => {
                read(&mut process.answer, ARTIFACT_MAX).map_err(failed)
            }
            Some(status) => Err(self.failure(&mut process, status, time)),
            None => Err(PrepareError::TooSlow { limit: time }),
        }
    }

    fn start(&self, component: &[u8], time: Duration) -> io::Result<Process> {
        let mut input = memory_file("component")?;
        input.write_all(component)?;
        input.rewind()?;
        let (answer, stderr) = (memory_file("artifact")?, memory_file("stderr")?);
        let child = Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(answer.try_clone()?))
            .stderr(Stdio::from(stderr.try_clone()?))
            .spawn()?;
        let pid = Pid::from_child(&child);
        let process = Process {
            child,
            answer,
            stderr,
        };
        // The process runs already; what it has used by now counts.
        let seconds = time.as_secs().max(1);
        for (resource, soft, hard) in [
            (Resource::As, self.address_space, self.address_space),
            (Resource::Cpu, seconds, seconds + 1),
            (Resource::Fsize, ARTIFACT_MAX, ARTIFACT_MAX),
            (Resource::Core, 0, 0),
        ] {
            // A process may lower its own limits, and not raise them.
            let own = getrlimit(resource).maximum.unwrap_or(u64::MAX);
            let limit = Rlimit {
                current: Some(soft.min(own)),
                maximum: Some(hard.min(own)),
            };
            match platform::limit_process(pid, resource, limit) {
                // It has ended, and its process id is not reused before it is waited for.
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(process)
    }

    /// Finds out why there is no artifact.
    fn failure(&self, process: &mut Process, status: ExitStatus, time: Duration) -> PrepareError {
        let text = |file: &mut File| {
            let bytes = read(file, REASON_MAX as u64).unwrap_or_default();
            printable(String::from_utf8_lossy(&bytes).trim(), REASON_MAX)
        };
        let stderr = text(&mut process.stderr);
        let signal = |signal: Signal| status.signal() == Some(signal.as_raw());
        if signal(Signal::XCPU) {
            return PrepareError::TooSlow { limit: time };
        }
        // Messages of the standard library before it aborts, and of the engine.
        let out_of_memory = ["memory allocation of", "Cannot allocate memory"];
        let answer = text(&mut process.answer);
        if out_of_memory
            .iter()
            .any(|words| stderr.contains(words) || answer.contains(words))
        {
            return PrepareError::OutOfMemory {
                limit: self.address_space,
            };
        }
        // The panic of the compiler's thread pool.
        if stderr.contains("ThreadPoolBuildError") {
            let reason = "the system starts no further thread for the compiler";
            return PrepareError::Host(reason.to_owned());
        }
        let reason = match (status.code(), answer.is_empty()) {
            (Some(1), false) => answer,
            _ => format!("the compiler ended with {status}: {stderr}"),
        };
        PrepareError::Compile { reason }
    }
}

fn compile_stdin() -> wasmtime::Result<Vec<u8>> {
    let mut component = Vec::new();
    io::stdin().read_to_end(&mut component)?;
    Engine::new(&settings::config())?.precompile_component(&component)
}

/// A compiler at work. Dropping it kills it.
struct Process {
    child: Child,
    answer: File,
    stderr: File,
}

impl Process {
    /// Waits for its end. None where its caller no longer waits.
    fn wait(&mut self, is_awaited: impl Fn() -> bool) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if !is_awaited() {
                return Ok(None);
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Neither fails for a process that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads at most `most` bytes from the beginning of a file.
fn read(file: &mut File, most: u64) -> io::Result<Vec<u8>> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

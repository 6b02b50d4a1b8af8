//! Compiling in a process of its own, which has limits and can be ended; a thread has and can not.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::fs::MemfdFlags;
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use wasmtime::Engine;

use crate::PrepareError;
use crate::accounting::output::printable;
use crate::engine::settings;

/// Largest artefact a compiler may hand over, in bytes.
const ARTEFACT_MAX: u64 = 256 << 20;

/// Most that is kept of what a compiler says of its failure, in bytes.
const REASON_MAX: usize = 1 << 10;

/// How often a compiler is looked after: whether it is done, and whether anybody still waits.
const LOOK: Duration = Duration::from_millis(2);

/// A program that compiles components, each in a process of its own: it begins with
/// [`Compiler::run`].
///
/// The process has an empty environment, no files but the component and its answer, an address
/// space of [`address_space`](Self::address_space), and as many seconds of processor time as
/// [`CompileLimits`](crate::CompileLimits) give the component. It is killed when nobody waits for it any more. What it hands over
/// is kept and mapped as what this process compiles itself: it never sees the key of the cache.
#[derive(Debug, Clone)]
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
    #[must_use]
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

    /// Compiles the component on stdin and writes what it comes to, or why it cannot be compiled, to
    /// stdout. All that the process of a [`Compiler`] does.
    ///
    /// The exit code is 0 when the component was compiled.
    #[must_use]
    pub fn run() -> ExitCode {
        // It ends with the process that waits for it, and lets others go first. Where the system does
        // neither, it compiles all the same.
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        let _ = rustix::process::nice(10);
        let mut component = Vec::new();
        let compiled = io::stdin()
            .read_to_end(&mut component)
            .map_err(|error| error.to_string())
            .and_then(|_| {
                Engine::new(&settings::config(None)).map_err(|error| format!("{error:#}"))
            })
            .and_then(|engine| {
                let compiled = engine.precompile_component(&component);
                compiled.map_err(|error| format!("{error:#}"))
            });
        let (said, code) = match &compiled {
            Ok(artefact) => (artefact.as_slice(), ExitCode::SUCCESS),
            Err(reason) => (reason.as_bytes(), ExitCode::FAILURE),
        };
        match io::stdout().write_all(said) {
            Ok(()) => code,
            Err(_) => ExitCode::FAILURE,
        }
    }

    /// Compiles a component in a process, for so long as `waited_for` says that somebody waits.
    ///
    /// Gives the artefact.
    pub(crate) fn compile(
        &self,
        component: &[u8],
        time: Duration,
        waited_for: impl Fn() -> bool,
    ) -> Result<Vec<u8>, PrepareError> {
        let mut process = self.start(component, time).map_err(|error| {
            PrepareError::Host(format!("the compiler cannot be started: {error}"))
        })?;
        let ended = process.wait(waited_for);
        let ended = ended.map_err(|error| PrepareError::Host(error.to_string()))?;
        match ended {
            Some(status) if status.success() => {
                let mut artefact = Vec::new();
                let whole = read(&mut process.said, ARTEFACT_MAX, &mut artefact);
                whole.map_err(|error| PrepareError::Host(error.to_string()))?;
                Ok(artefact)
            }
            Some(status) => Err(self.failure(&mut process, status, time)),
            None => Err(PrepareError::TooSlow { limit: time }),
        }
    }

    fn start(&self, component: &[u8], time: Duration) -> io::Result<Process> {
        let mut input = memory_file("component")?;
        input.write_all(component)?;
        input.rewind()?;
        let (said, complaint) = (memory_file("artefact")?, memory_file("complaint")?);
        let child = Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(said.try_clone()?))
            .stderr(Stdio::from(complaint.try_clone()?))
            .spawn()?;
        let process = Process {
            child,
            said,
            complaint,
        };
        // It may run already, but what it has used by now counts too.
        let seconds = time.as_secs().max(1);
        for (resource, soft, hard) in [
            (Resource::As, self.address_space, self.address_space),
            (Resource::Cpu, seconds, seconds + 1),
            (Resource::Fsize, ARTEFACT_MAX, ARTEFACT_MAX),
            (Resource::Core, 0, 0),
        ] {
            let limit = Rlimit {
                current: Some(soft),
                maximum: Some(hard),
            };
            match prlimit(Some(process.pid()), resource, limit) {
                // It has ended, and was waited for by nobody yet: its number is still its own.
                Ok(_) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(process)
    }

    /// Why it came to no artefact.
    fn failure(&self, process: &mut Process, status: ExitStatus, time: Duration) -> PrepareError {
        let text = |file: &mut File| {
            let mut bytes = Vec::new();
            // Whatever can be read says more than nothing.
            let _ = read(file, REASON_MAX as u64, &mut bytes);
            printable(String::from_utf8_lossy(&bytes).trim(), REASON_MAX)
        };
        let complaint = text(&mut process.complaint);
        let signal = |signal: Signal| status.signal() == Some(signal.as_raw());
        if signal(Signal::XCPU) {
            return PrepareError::TooSlow { limit: time };
        }
        // What the standard library says before it aborts, and what the engine says.
        let out_of_memory = ["memory allocation of", "Cannot allocate memory"];
        let said = text(&mut process.said);
        if out_of_memory
            .iter()
            .any(|words| complaint.contains(words) || said.contains(words))
        {
            return PrepareError::OutOfMemory {
                limit: self.address_space,
            };
        }
        let reason = match (status.code(), said.is_empty()) {
            (Some(1), false) => said,
            _ => format!("the compiler ended with {status}: {complaint}"),
        };
        PrepareError::Compile { reason }
    }
}

/// A compiler at work. Dropping it kills it.
struct Process {
    child: Child,
    said: File,
    complaint: File,
}

impl Process {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits for its end. None where nobody waits for that any more.
    fn wait(&mut self, waited_for: impl Fn() -> bool) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if !waited_for() {
                return Ok(None);
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Neither fails for one that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file without a name, in memory.
fn memory_file(name: &str) -> io::Result<File> {
    Ok(rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?.into())
}

/// Reads a file from its beginning, so many bytes at most.
fn read(file: &mut File, most: u64, into: &mut Vec<u8>) -> io::Result<()> {
    file.rewind()?;
    file.take(most).read_to_end(into)?;
    Ok(())
}

//! One run of the interpreter, from its parameters to its result.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bashkit::{
    Bash, Error, ExecOptions, ExecutionBudgetExceeded, ExecutionLimits, FileSystem, LimitExceeded,
    SessionLimits, normalize_path,
};
use serde::Deserialize;
use toolhost_guest::ToolError;

use crate::commands::{self, Commands};
use crate::files::Files;
use crate::missing::{self, Missing};
use crate::output::{Kept, Output};

/// Below the host's default deadline of 30 s, so that the output up to then is returned.
const DEFAULT_TIMEOUT_MS: u64 = 20_000;

/// Exit code when the time was over, as of `timeout`.
const TIMED_OUT: i32 = 124;

/// Exit code when a limit of the interpreter ended the run.
const STOPPED: i32 = 125;

/// Exit code of a script that bash cannot read.
const SYNTAX: i32 = 2;

/// How deep functions, `$(…)` and `(…)` may call each other. Each level takes memory, not stack.
const DEPTH: usize = 1000;

/// How a command line or a script is run.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Settings {
    #[serde(default)]
    cwd: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
    stdin: Option<String>,
    timeout_ms: Option<u64>,
}

/// An interpreter, for one run.
pub(crate) struct Shell {
    bash: Bash,
    stdin: Option<String>,
    timeout: Duration,
}

/// What was written so far: stdout and stderr.
type Written = Arc<Mutex<(Kept, Kept)>>;

impl Shell {
    /// # Errors
    /// `cwd` is not a folder of the workdir, or `env` has an invalid name.
    pub(crate) fn new(settings: Settings) -> Result<Self, ToolError> {
        let timeout = settings.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
        let timeout = Duration::from_millis(timeout);
        let until = Instant::now() + timeout;
        let files = Arc::new(Files::new());
        let mut bash = Bash::builder()
            .fs(Arc::clone(&files) as Arc<dyn FileSystem>)
            // The workdir is the root, without the folders of an operating system.
            .rootfs(false)
            .cwd(folder(&settings.cwd)?)
            .env("HOME", "/")
            .limits(limits(timeout))
            .session_limits(SessionLimits::unlimited())
            .builtin_filter(|name| !missing::is_hidden(name))
            .command_resolver(Arc::new(Missing));
        for (name, value) in granted_variables() {
            bash = bash.env(name, value);
        }
        for (name, value) in settings.env {
            if !is_variable(&name) {
                let error = ToolError::new(format!("env: not the name of a variable: `{name}`"));
                return Err(error
                    .name("InvalidEnvError")
                    .code("INVALID_ENV")
                    .suggestion("use letters, digits and `_`, a letter or `_` first"));
            }
            bash = bash.env(name, value);
        }
        for (name, command) in commands::live(&files, until) {
            bash = bash.command(name, command);
        }
        let commands = Arc::new(Commands::new(files, until));
        let mut bash = bash.builtin_source(commands).build();
        bash.set_argument_check(commands::refusal);
        Ok(Self {
            bash,
            stdin: settings.stdin,
            timeout,
        })
    }

    /// Runs a text; `name` is its `$0`.
    ///
    /// # Errors
    /// The clock is missing. Failures of the script are an [`Output`].
    pub(crate) fn run(
        self,
        text: &str,
        name: &str,
        args: Vec<String>,
    ) -> Result<Output, ToolError> {
        let written = Written::default();
        let listener = Arc::clone(&written);
        let mut options = ExecOptions::new()
            .arg0(name)
            .positional(args)
            .streaming(Box::new(move |stdout, stderr| {
                let mut written = listener.lock().unwrap_or_else(PoisonError::into_inner);
                written.0.push(stdout.as_bytes());
                written.1.push(stderr.as_bytes());
            }));
        // Without input, a command that reads would wait forever.
        options = options.stdin(self.stdin.unwrap_or_default());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        // Freeing some thousand values takes longer than a short command; the memory ends with the call.
        let (mut bash, runtime) = (ManuallyDrop::new(self.bash), ManuallyDrop::new(runtime));
        let ran = runtime.block_on(bash.exec_with_options(text, options));

        // What was streamed is the whole output: the result lacks that of traps.
        let (stdout, mut stderr) =
            std::mem::take(&mut *written.lock().unwrap_or_else(PoisonError::into_inner));
        let (exit_code, timed_out) = match ran {
            Ok(result) => (result.exit_code, false),
            Err(error) => {
                let (line, exit_code) = ended(&error, name, text, self.timeout);
                stderr.push(line.as_bytes());
                (exit_code, exit_code == TIMED_OUT)
            }
        };
        let ((stdout, cut), (stderr, also_cut)) = (stdout.into_text(), stderr.into_text());
        Ok(Output {
            stdout,
            stderr,
            exit_code,
            timed_out,
            truncated: cut || also_cut,
        })
    }
}

/// The last line of stderr when the interpreter gave up, and the exit code.
fn ended(error: &Error, name: &str, text: &str, timeout: Duration) -> (String, i32) {
    let ms = timeout.as_millis();
    match error {
        Error::Parse { .. } => {
            let report = error.syntax_report(name, text);
            (
                report.unwrap_or_else(|| format!("{name}: {error}\n")),
                SYNTAX,
            )
        }
        Error::ResourceLimit(
            LimitExceeded::Timeout(_)
            | LimitExceeded::ExecutionBudget(ExecutionBudgetExceeded::Deadline { .. }),
        ) => {
            let line =
                format!("{name}: stopped after {ms} ms; `timeoutMs` sets how long it may take\n");
            (line, TIMED_OUT)
        }
        Error::ResourceLimit(limit) => (format!("{name}: stopped: {limit}\n"), STOPPED),
        error => (format!("{name}: {error}\n"), 1),
    }
}

/// A run is limited by time. Other limits only prevent that it takes all memory or traps.
fn limits(timeout: Duration) -> ExecutionLimits {
    ExecutionLimits::new()
        .timeout(timeout)
        .parser_timeout(timeout)
        .max_work_units(u64::MAX)
        .max_aggregate_input_bytes(u64::MAX)
        .max_live_intermediate_bytes(64 << 20)
        .max_commands(usize::MAX)
        .max_loop_iterations(usize::MAX)
        .max_total_loop_iterations(usize::MAX)
        .max_parser_operations(10_000_000)
        .max_function_depth(DEPTH)
        .max_subst_depth(DEPTH)
        .max_subshell_depth(DEPTH)
        .max_stdout_bytes(8 << 20)
        .max_stderr_bytes(1 << 20)
}

/// Returns the variables that the operator's policy grants to this tool. A script cannot read other names.
fn granted_variables() -> impl Iterator<Item = (String, String)> {
    let variables = env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        is_variable(&name).then_some((name, value))
    });
    variables
}

/// Returns the folder to start in, from the workdir's root.
fn folder(path: &str) -> Result<PathBuf, ToolError> {
    if path.is_empty() {
        return Ok(PathBuf::from("/"));
    }
    let folder = normalize_path(&Path::new("/").join(path));
    match fs::metadata(&folder) {
        Ok(found) if found.is_dir() => Ok(folder),
        Ok(_) => Err(
            ToolError::new(format!("cwd: is a file, not a folder: {path}"))
                .name("NotDirectoryError")
                .code("NOT_DIRECTORY")
                .suggestion("pass a folder of the workdir, or leave `cwd` out"),
        ),
        Err(error) => Err(ToolError::from(error)
            .at(format_args!("cwd {path}"))
            .suggestion("pass a folder of the workdir, or leave `cwd` out")),
    }
}

fn is_variable(name: &str) -> bool {
    let mut chars = name.chars();
    let first = chars
        .next()
        .is_some_and(|char| char.is_ascii_alphabetic() || char == '_');
    first && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
}

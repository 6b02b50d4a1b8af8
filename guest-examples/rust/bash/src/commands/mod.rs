//! Commands that this tool brings in place of bashkit's, and the reason for each.
//!
//! A command is a function over a [`Call`], in one of the tables [`TABLES`]. It reads its options by a
//! [`Spec`](options::Spec), so that an option that is not implemented is an error.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use bashkit::{
    Builtin, BuiltinContext, BuiltinSideEffect, BuiltinSource, CommandContext, CommandStatus,
    ExecResult, ExecutionPlan, SubCommand, async_trait,
};

use crate::files::Files;
use call::{Call, Failure};
use options::{Line, Spec};

mod archives;
pub(crate) mod call;
pub(crate) mod dates;
mod jq;
mod on_files;
mod on_text;
pub(crate) mod options;
mod others;
mod web;

/// The variable in which bashkit keeps the umask of a shell.
const UMASK: &str = "_UMASK";

pub(crate) use others::refusal;

/// Exit code of a command that cannot be run.
const NOT_RUNNABLE: i32 = 126;

const TABLES: &[&[Command]] = &[
    archives::COMMANDS,
    archives::SCRIPTS,
    on_files::COMMANDS,
    on_text::COMMANDS,
    web::COMMANDS,
    &[jq::JQ],
];

/// How a command does its work.
pub(crate) enum Run {
    /// Returns the exit code.
    Here(fn(&mut Call, &Line) -> Result<i32, Failure>),
    /// Returns a text that the shell runs in a subshell in the command's place. What the command has written
    /// to `out` and `err` is dropped: it belongs into the text.
    Shell(fn(&mut Call, &Line) -> Result<String, Failure>),
    /// Returns such a text if the first function has one, or else what the second does.
    Either(
        fn(&mut Call, &Line) -> Result<Option<String>, Failure>,
        fn(&mut Call, &Line) -> Result<i32, Failure>,
    ),
}

pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) spec: Spec,
    pub(crate) run: Run,
}

impl Command {
    pub(crate) const fn new(
        name: &'static str,
        spec: Spec,
        run: fn(&mut Call, &Line) -> Result<i32, Failure>,
    ) -> Self {
        let run = Run::Here(run);
        Self { name, spec, run }
    }

    pub(crate) const fn of_shell(
        name: &'static str,
        spec: Spec,
        run: fn(&mut Call, &Line) -> Result<String, Failure>,
    ) -> Self {
        let run = Run::Shell(run);
        Self { name, spec, run }
    }
}

/// Commands whose input bashkit leaves in the pipe: it runs them beside the command that writes it.
const LIVE: [&str; 3] = ["cat", "grep", "tr"];

/// The commands by name that read a pipe while it is written.
pub(crate) fn live(
    files: &Arc<Files>,
    until: Instant,
) -> impl Iterator<Item = (&'static str, Live)> {
    let commands = TABLES.iter().copied().flatten();
    let commands = commands.filter(|command| LIVE.contains(&command.name));
    commands.map(move |command| {
        let files = Arc::clone(files);
        (
            command.name,
            Live(Adapter {
                command,
                files,
                until,
            }),
        )
    })
}

/// The other commands, for bashkit.
pub(crate) struct Commands {
    files: Arc<Files>,
    until: Instant,
}

impl Commands {
    pub(crate) fn new(files: Arc<Files>, until: Instant) -> Self {
        Self { files, until }
    }
}

/// Those of [`TABLES`] that bashkit runs once their input is there.
fn buffered() -> impl Iterator<Item = &'static Command> {
    let commands = TABLES.iter().copied().flatten();
    commands.filter(|command| !LIVE.contains(&command.name))
}

impl BuiltinSource for Commands {
    fn contains(&self, name: &str) -> bool {
        buffered().any(|command| command.name == name)
    }

    fn make(&self, name: &str) -> Option<Arc<dyn Builtin>> {
        let command = buffered().find(|command| command.name == name)?;
        Some(Arc::new(Adapter {
            command,
            files: Arc::clone(&self.files),
            until: self.until,
        }))
    }

    fn names(&self) -> Vec<&'static str> {
        buffered().map(|command| command.name).collect()
    }
}

/// A text as one word of the shell.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

struct Adapter {
    command: &'static Command,
    files: Arc<Files>,
    until: Instant,
}

impl Adapter {
    /// What `--help` and `--version` print.
    fn about(&self, args: &[String]) -> Option<String> {
        let name = self.command.name;
        // They have texts of their own.
        if matches!(name, "jq" | "curl" | "wget") {
            return None;
        }
        match args.first()?.as_str() {
            "--version" => Some(format!("{name} (toolhost) {}\n", env!("CARGO_PKG_VERSION"))),
            "--help" => {
                let options = self.command.spec.shown();
                Some(format!(
                    "Usage: {name} [OPTION]... [ARGUMENT]...\nOptions: {options}\n"
                ))
            }
            _ => None,
        }
    }

    fn call<'a>(&'a self, context: &'a BuiltinContext<'_>) -> Call<'a> {
        let umask = context.variables.get(UMASK);
        let umask = umask.and_then(|mask| u32::from_str_radix(mask, 8).ok());
        self.files.set_umask(umask);
        Call::new(
            self.command.name,
            (context.args, context.env, context.cwd, self.until),
            &self.files,
            context.stdin_bytes().unwrap_or_default(),
        )
    }
}

pub(crate) struct Live(Adapter);

#[async_trait]
impl bashkit::Command for Live {
    async fn execute(&self, context: CommandContext<'_>) -> bashkit::Result<CommandStatus> {
        let Self(Adapter {
            command,
            files,
            until,
        }) = self;
        let Run::Here(run) = command.run else {
            return Ok(CommandStatus::with_code(NOT_RUNNABLE));
        };
        if let Some(text) = self.0.about(context.args) {
            context.stdout.write_all(text.as_bytes()).await?;
            return Ok(CommandStatus::success());
        }
        let line = command.spec.read(context.args);
        let reads = line
            .as_ref()
            .is_ok_and(|line| on_text::reads_input(command.name, line));
        let mut stdin = Vec::new();
        while reads && let Some(chunk) = context.stdin.read_chunk().await? {
            stdin.extend(chunk);
        }
        let mut devices = HashMap::new();
        for arg in context
            .args
            .iter()
            .filter(|arg| arg.starts_with("/dev/fd/"))
        {
            if let Ok(bytes) = context.fs.read_file(arg.as_ref()).await {
                devices.insert(arg.clone(), bytes);
            }
        }
        let (out, err, pieces, exit_code) = {
            let given = (context.args, context.env, context.cwd, *until);
            let mut call = Call::new(command.name, given, files, &stdin);
            call.devices = devices;
            let exit_code = match line.and_then(|line| run(&mut call, &line)) {
                Ok(code) => code,
                Err(Failure { code, text }) => {
                    call.complain(text);
                    code
                }
            };
            let pieces = call.pieces();
            (call.out, call.err, pieces, exit_code)
        };
        let (mut out, mut err) = (out.as_slice(), err.as_slice());
        for (of_stderr, length) in pieces {
            if of_stderr {
                let (piece, rest) = err.split_at(length.min(err.len()));
                context.stderr.write_all(piece).await?;
                err = rest;
            } else {
                let (piece, rest) = out.split_at(length.min(out.len()));
                context.stdout.write_all(piece).await?;
                out = rest;
            }
        }
        Ok(CommandStatus::with_code(exit_code))
    }
}

#[async_trait]
impl Builtin for Adapter {
    async fn execute(&self, context: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        if let Some(text) = self.about(context.args) {
            return Ok(ExecResult::ok(text));
        }
        let (Run::Here(run) | Run::Either(_, run)) = self.command.run else {
            return Ok(ExecResult::ok(""));
        };
        let mut call = self.call(&context);
        call.stdin_is_file = context.stdin_is_file();
        for arg in context
            .args
            .iter()
            .filter(|arg| arg.starts_with("/dev/fd/"))
        {
            if let Ok(bytes) = context.fs.read_file(arg.as_ref()).await {
                call.devices.insert(arg.clone(), bytes);
            }
        }
        let ran = self.command.spec.read(context.args);
        let exit_code = match ran.and_then(|line| run(&mut call, &line)) {
            Ok(code) => code,
            Err(Failure { code, text }) => {
                call.complain(text);
                code
            }
        };
        if call.is_late {
            // The shell ends the run at its next turn.
            std::future::pending::<()>().await;
        }
        for (path, content) in std::mem::take(&mut call.device_outputs) {
            context.fs.append_file(path.as_ref(), &content).await?;
        }
        let pieces = if call.err.is_empty() {
            Vec::new()
        } else {
            call.pieces()
        };
        let assignments = std::mem::take(&mut call.assignments);
        let mut result = ExecResult::ok_bytes(call.out);
        result.stderr = call.err.into();
        result.pieces = pieces;
        result.exit_code = exit_code;
        let set = |(name, value)| BuiltinSideEffect::SetVariable { name, value };
        result.side_effects.extend(assignments.into_iter().map(set));
        Ok(result)
    }

    async fn execution_plan(
        &self,
        context: &BuiltinContext<'_>,
    ) -> bashkit::Result<Option<ExecutionPlan>> {
        if self.about(context.args).is_some() {
            return Ok(None);
        }
        let mut call = self.call(context);
        let read = || self.command.spec.read(context.args);
        let ran = match self.command.run {
            Run::Here(_) => return Ok(None),
            Run::Shell(run) => read().and_then(|line| run(&mut call, &line).map(Some)),
            Run::Either(run, _) => read().and_then(|line| run(&mut call, &line)),
        };
        let text = match ran {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(None),
            Err(Failure { code, text }) => {
                let text = quoted(&format!("{}: {text}", self.command.name));
                format!("printf '%s\\n' {text} >&2; exit {code}")
            }
        };
        let command = SubCommand {
            name: "eval".to_owned(),
            args: vec![format!("( {text}\n)")],
            stdin: context.stdin.cloned(),
            assignments: Vec::new(),
        };
        Ok(Some(ExecutionPlan::Batch {
            commands: vec![command],
        }))
    }
}

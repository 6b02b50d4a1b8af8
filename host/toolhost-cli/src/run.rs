//! Runs a command, from the arguments to the exit code.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::JoinError;

use crate::args::{self, Command};
use crate::base::Base;
use crate::commands;
use crate::environment;
use crate::event_logs::EventLogs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::policy_file;
use crate::process_limits;
use crate::settings::Settings;
use crate::signals::{self, StopSignals};
use crate::state_dirs::StateDirs;
use crate::stop_request::StopRequest;
use crate::terminal::{Style, log, stderr, workflow};
use crate::toolchains::TargetDir;

/// How long a stopped command has to release what it holds. Work that does not yield, such as a blocked
/// write to stdout, ends with the process.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the process waits for what a stopped command has left to the runtime.
const RELEASE_TIMEOUT: Duration = Duration::from_millis(200);

/// Stack of each thread, in bytes: as large as a main thread's.
const STACK_BYTES: usize = 8 << 20;

/// The variable that names a file with the base tools behind it, in the place of this program.
const BASE_ARCHIVE: &str = "TOOLHOST_BASE";

/// Runs the command in the arguments of the process.
pub(crate) fn run() -> Exit {
    workflow::start_if_present();
    let mut cli = match args::parse() {
        Ok(cli) => cli,
        Err(exit) => return exit,
    };
    let color = cli.global.color;
    let verbosity = cli.global.verbosity();
    let dirs = StateDirs::find(cli.global.state_root, environment::value);
    let base = Base::new(
        dirs.cache.clone(),
        environment::value(BASE_ARCHIVE).map(Into::into),
    );
    let settings = Arc::new(Settings {
        verbosity,
        style: Style::of_stderr(color),
        stdout_style: Style::of_stdout(color),
        target_dir: match environment::value("CARGO_TARGET_DIR") {
            Some(_) => TargetDir::FromEnvironment,
            None => TargetDir::Cache,
        },
        ca_file: cli.global.ca_file,
        dirs,
        base: Arc::new(base),
        event_logs: EventLogs::default(),
    });
    // Dropped at the end, which sends the last spans.
    let _exporting = match log::start(settings.verbosity, cli.command.otlp()) {
        Ok(guard) => guard,
        Err(error) => {
            let failure = Failure::from(error).hint("Pass --otlp the http:// URL of a collector.");
            failure.print(settings.style);
            return failure.exit;
        }
    };
    process_limits::report_missing_threads(settings.style);
    let chosen = cli.command.policy_mut();
    if let Some(Err(failure)) = chosen.map(|policy| policy_file::choose(policy, &settings)) {
        failure.print(settings.style);
        return failure.exit;
    }
    let done = match process_limits::prepare() {
        Err(failure) if !cli.command.reports_limits() => Err(failure),
        Ok(()) | Err(_) => run_until_signal(cli.command, &settings),
    };
    // Work that did not stop in time may still be displayed.
    stderr::close_progress();
    match done {
        Ok(exit) => exit,
        Err(failure) => {
            failure.print(settings.style);
            failure.exit
        }
    }
}

/// Runs a command until it ends, or a signal stops it.
fn run_until_signal(command: Command, settings: &Arc<Settings>) -> Result<Exit, Failure> {
    // With tokio's default interval of 61, a guest that computes delays timers by tens of milliseconds.
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .event_interval(1)
        .build();
    let runtime = runtime.map_err(|error| {
        Failure::from(anyhow::Error::new(error).context("the host's threads cannot be started"))
    })?;
    let settings = Arc::clone(settings);
    let event_logs = settings.event_logs.clone();
    let done = runtime.block_on(async {
        signals::survive_file_size_limit();
        let mut signals = StopSignals::listen();
        let (stop, drains) = (StopRequest::new(), command.drains());
        let stopping = stop.clone();
        // In its own task, so that signals are received while it computes.
        let mut work =
            tokio::spawn(async move { commands::execute(command, &settings, &stopping).await });
        let mut exit = tokio::select! {
            biased;
            exit = signals.next() => exit,
            done = &mut work => return joined(done),
        };
        if drains {
            stop.send();
            exit = tokio::select! {
                biased;
                second = signals.next() => second,
                done = &mut work => return joined(done),
            };
        }
        // Dropping the command stops the guest.
        work.abort();
        tokio::select! {
            _ended = work => Err(Failure::stopped(exit)),
            // Exits at once, without a message.
            _second = signals.next() => Ok(exit),
            () = tokio::time::sleep(SHUTDOWN_TIMEOUT) => Ok(exit),
        }
    });
    // A stopped call may still remove what it staged, and its end is an event. Other work is not waited for, such as a
    // read from a terminal.
    let release = if done.is_err() || !event_logs.is_empty() {
        RELEASE_TIMEOUT
    } else {
        Duration::ZERO
    };
    runtime.shutdown_timeout(release);
    event_logs.write();
    done
}

fn joined(done: Result<Result<Exit, Failure>, JoinError>) -> Result<Exit, Failure> {
    match done.map_err(JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(error)) => Err(Failure::from(error)),
    }
}

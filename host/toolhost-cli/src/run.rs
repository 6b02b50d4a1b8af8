//! From the command line to the exit code.

use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinError;

use crate::args::{Cli, Command};
use crate::commands;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, StopSignal};
use crate::settings::Settings;
use crate::state_dirs::StateDirs;
use crate::terminal::Style;
use crate::terminal::log;
use crate::terminal::{stderr, text};
use crate::toolchains::TargetDir;

/// How long a command that was stopped has to let go of what it holds. One that computes, or waits for
/// its answer to be read, ends with the process.
const LETTING_GO: Duration = Duration::from_secs(2);

/// Stack of the host's threads, in bytes: that of a main thread.
const STACK_BYTES: usize = 8 << 20;

/// Runs the command that the process was started with.
pub(crate) fn run() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(told) => {
            // Wrong usage goes to stderr, and quotes what was written: it may be a model's.
            if told.use_stderr() {
                let told = told.to_string();
                let lines: Vec<String> = told.lines().map(text::line).collect();
                stderr::write(&lines.join("\n"));
                return Exit::Unusable;
            }
            // Help goes to stdout, which may be closed.
            let _ = told.print();
            return Exit::Done;
        }
    };
    let environment = Environment::read();
    let settings = Arc::new(Settings {
        verbosity: cli.global.verbosity(),
        style: Style::new(&environment),
        target_dir: match environment.cargo_target_dir {
            true => TargetDir::OfTheUser,
            false => TargetDir::Cache,
        },
        dirs: StateDirs::find(&environment, cli.global.state_root),
    });
    log::start(settings.verbosity);
    match run_to_the_end(cli.command, &settings) {
        Ok(exit) => exit,
        Err(failure) => {
            failure.show(settings.style);
            failure.exit()
        }
    }
}

fn run_to_the_end(command: Command, settings: &Arc<Settings>) -> Result<Exit, Failure> {
    // With tokio's default of 61, a guest that computes delays every timer by tens of milliseconds.
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .event_interval(1)
        .build();
    let runtime = runtime.map_err(|error| {
        Failure::from(anyhow::Error::new(error).context("the host's threads cannot be started"))
    })?;
    let settings = Arc::clone(settings);
    let done = runtime.block_on(async {
        let mut signals = StopSignals::listen();
        // A task of its own: however long it computes, a signal is heard.
        let mut work = tokio::spawn(async move { carry_out(command, &settings).await });
        let signal = tokio::select! {
            biased;
            signal = signals.next() => signal,
            done = &mut work => return joined(done),
        };
        // The guest is stopped by dropping the command.
        work.abort();
        let stopped = Failure::stopped(signal);
        tokio::select! {
            _ended = work => Err(stopped),
            // Perhaps it cannot write: nothing more is said.
            _second = signals.next() => Ok(stopped.exit()),
            () = tokio::time::sleep(LETTING_GO) => Ok(stopped.exit()),
        }
    });
    // What cannot be interrupted, such as a read of a terminal, ends with the process.
    runtime.shutdown_background();
    done
}

async fn carry_out(command: Command, settings: &Settings) -> Result<Exit, Failure> {
    match command {
        Command::New(args) => commands::new(&args),
        Command::Build(args) => commands::build(&args, settings).await,
        Command::Check(args) => commands::check(&args, settings).await,
        Command::List(args) => commands::list(&args, settings).await,
        Command::Call(args) => commands::call(&args, settings).await,
        Command::Poll(args) => commands::poll(&args, settings).await,
        Command::Cancel(args) => commands::cancel(&args, settings).await,
        Command::Play(args) => commands::play(&args, settings).await,
        Command::Test(args) => commands::test(&args, settings).await,
        Command::Inspect(args) => commands::inspect(&args, settings).await,
        Command::Cache(args) => commands::cache(&args, settings),
    }
}

fn joined(done: Result<Result<Exit, Failure>, JoinError>) -> Result<Exit, Failure> {
    match done.map_err(JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(error)) => Err(Failure::of(error)),
    }
}

/// The signals to stop. One that cannot be listened to keeps its ordinary meaning, which ends the
/// process.
struct StopSignals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
}

impl StopSignals {
    fn listen() -> Self {
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
        }
    }

    /// Waits for one.
    async fn next(&mut self) -> StopSignal {
        tokio::select! {
            () = received(&mut self.interrupt) => StopSignal::Interrupt,
            () = received(&mut self.terminate) => StopSignal::Terminate,
        }
    }
}

async fn received(signals: &mut Option<Signal>) {
    match signals {
        Some(signals) => drop(signals.recv().await),
        None => std::future::pending().await,
    }
}

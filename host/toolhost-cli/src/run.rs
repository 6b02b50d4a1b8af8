//! From the command line to the exit code.

use clap::Parser;
use tokio::runtime::Builder;

use crate::args::{Cli, Command};
use crate::commands;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::findings::Look;
use crate::log;
use crate::places::Places;
use crate::setting::Setting;

/// Runs the command that the process was started with.
pub(crate) fn run() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(told) => {
            // Help goes to stdout, wrong usage to stderr; neither is there for a closed one.
            let _ = told.print();
            return if told.use_stderr() {
                Exit::Unusable
            } else {
                Exit::Done
            };
        }
    };
    let environment = Environment::read();
    let setting = Setting {
        loudness: cli.global.loudness(),
        look: Look::new(&environment),
        places: Places::find(&environment, cli.global.state_root),
    };
    log::start(setting.loudness);
    match run_to_the_end(cli.command, &setting) {
        Ok(exit) => exit,
        Err(failure) => {
            failure.show(setting.look);
            failure.exit()
        }
    }
}

fn run_to_the_end(command: Command, setting: &Setting) -> Result<Exit, Failure> {
    // With tokio's default of 61, a guest that computes delays every timer by tens of milliseconds.
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .event_interval(1)
        .build();
    let runtime = runtime.map_err(|error| {
        Failure::from(anyhow::Error::new(error).context("the host's threads cannot be started"))
    })?;
    let done = runtime.block_on(async {
        tokio::select! {
            biased;
            // The guest is stopped by dropping the command.
            () = interrupted() => Err(Failure::interrupted()),
            done = carry_out(command, setting) => done,
        }
    });
    // What cannot be interrupted, such as a read of a terminal, ends with the process.
    runtime.shutdown_background();
    done
}

async fn carry_out(command: Command, setting: &Setting) -> Result<Exit, Failure> {
    match command {
        Command::Check(args) => commands::check(&args, setting).await,
        Command::List(args) => commands::list(&args, setting).await,
        Command::Call(args) => commands::call(&args, setting).await,
        Command::Poll(args) => commands::poll(&args, setting).await,
        Command::Cancel(args) => commands::cancel(&args, setting).await,
        Command::Play(args) => commands::play(&args, setting).await,
        Command::Inspect(args) => commands::inspect(&args, setting).await,
        Command::Cache(args) => commands::cache(&args, setting),
    }
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Then Ctrl-C keeps its ordinary meaning, which ends the process.
        std::future::pending().await
    }
}

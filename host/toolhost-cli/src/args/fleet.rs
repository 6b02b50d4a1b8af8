//! The arguments of `toolhost worker` and `toolhost workers`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::BUNDLE;

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// Bundle file, directory that holds a goondan.yaml, or `base`: the same as that of the hosts
    #[arg(value_name = "BUNDLE", default_value = BUNDLE)]
    pub(crate) bundle: PathBuf,
    /// The operator's policy: the same file as that of the hosts
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// The servers that carry calls, with commas between them [default: those of the policy's `workers`]
    #[arg(long, value_name = "URL")]
    pub(crate) nats: Option<String>,
    /// Labels, with commas between them, for tools with `placement: {label: NAME}`
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    pub(crate) labels: Vec<String>,
    /// Calls that run at once
    #[arg(long, value_name = "CALLS", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) slots: u32,
    /// Name of this machine in lists [default: its host name]
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct WorkersArgs {
    #[command(subcommand)]
    pub(crate) action: Option<WorkersAction>,
    #[command(flatten)]
    pub(crate) carrier: CarrierArgs,
    /// Print the workers as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// An action on workers.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkersAction {
    /// Tell a worker to take no more calls: it ends when those that run have ended
    Drain(DrainArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DrainArgs {
    /// Id of the worker, as the list has it
    #[arg(value_name = "ID")]
    pub(crate) worker: String,
    #[command(flatten)]
    pub(crate) carrier: CarrierArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CarrierArgs {
    /// The operator's policy: its `workers` has the servers
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// The servers that carry calls, with commas between them [default: those of the policy's `workers`]
    #[arg(long, value_name = "URL")]
    pub(crate) nats: Option<String>,
}

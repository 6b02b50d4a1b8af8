//! The arguments of `toolhost instances`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct InstancesArgs {
    #[command(subcommand)]
    pub(crate) action: Option<InstancesAction>,
    /// List the instances of this bundle alone
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: Option<PathBuf>,
    /// The operator's policy: its `workspace` names the workspaces of the bundle
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Print the instances as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// An action on instances.
#[derive(Debug, Subcommand)]
pub(crate) enum InstancesAction {
    /// Remove an instance with its workspace, its events and its recordings
    Rm(RemoveArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The name under which the workspaces of the bundle are kept, as the list has it
    #[arg(value_name = "WORKSPACE")]
    pub(crate) workspace: String,
    /// Key of the instance, or the name of its directory
    #[arg(value_name = "INSTANCE")]
    pub(crate) instance: String,
    /// Remove it without a question
    #[arg(long)]
    pub(crate) yes: bool,
}

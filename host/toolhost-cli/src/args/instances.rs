//! The arguments of `toolhost instances`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) const HELP: &str = "\
Examples:
  toolhost instances
  toolhost instances my-bundle --policy policy.yaml
  toolhost instances rm shop user-1

Each line has the size of an instance, when it was last used, the name under which the workspaces of its bundle are
kept, and its key. The name is the policy's `workspace`, or a part and a digest of the path of the manifest. An
instance without events has the name of its directory in the place of its key.

`rm` removes an instance with its workspace, its events and its recordings. It asks before, and refuses an instance
whose files a process of this machine has open.

With --json: {\"instances\": [{\"workspace\", \"key\", \"directory\", \"path\", \"bytes\", \"lastUsed\"}]}.

Exit codes: 0 done · 1 rm: it is in use, or was not confirmed · 2 there is no such instance, or the state root cannot
be read or written";

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

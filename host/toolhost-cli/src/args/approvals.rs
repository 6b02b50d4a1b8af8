//! The arguments of `toolhost approvals`, `approve` and `deny`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) action: Option<ApprovalsAction>,
    /// List also what was decided, has expired or was cancelled
    #[arg(long)]
    pub(crate) all: bool,
    /// The operator's policy, whose `state` names the database [default: the file in the state root]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Print the approvals as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// An action on approvals.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsAction {
    /// Show what a call waits to do: the diff, the request or the message
    Show(ShowApprovalArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ShowApprovalArgs {
    /// The approval, by the id that the list has
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The operator's policy, whose `state` names the database [default: the file in the state root]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DecideArgs {
    /// The approval, by the id that `toolhost approvals` prints
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Why; the model reads the reason of a refusal
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: Option<String>,
    /// Who decides [default: the user of this process]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// The operator's policy, whose `state` names the database [default: the file in the state root]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Print the approval as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

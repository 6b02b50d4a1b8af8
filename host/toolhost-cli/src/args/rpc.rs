//! The arguments of `toolhost rpc`.

use std::path::PathBuf;

use clap::Args;

use super::operation::OperationArgs;
use super::serve::ServedTools;

#[derive(Debug, Args)]
pub(crate) struct RpcArgs {
    /// Bundle file, directory that holds a goondan.yaml, or `base`: the tools that toolhost ships [default: clients
    /// load bundles]
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: Option<PathBuf>,
    /// The agent that clients use [default: they choose one]
    #[arg(long, value_name = "NAME", requires = "bundle")]
    pub(crate) agent: Option<String>,
    /// Key of the agent instance that clients use [default: they choose one]
    #[arg(long, value_name = "KEY")]
    pub(crate) instance: Option<String>,
    /// The directory that tools see as `/` [default: clients choose one, or the instance's workspace]
    #[arg(long, value_name = "DIR")]
    pub(crate) workdir: Option<PathBuf>,
    /// The operator's policy: grants and limits of tools
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// What clients see: all tools; two that search them and call what they find; those that run programs, which call
    /// them; or both
    #[arg(long, value_name = "TOOLS", value_enum, default_value_t)]
    pub(crate) tools: ServedTools,
    /// Load the bundle and the policy again when their files change
    #[arg(long, requires = "bundle")]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) operation: OperationArgs,
    /// Listen on a Unix socket, in place of stdin and stdout
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
}

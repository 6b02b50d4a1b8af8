//! The arguments of commands that make calls.

use std::path::PathBuf;

use clap::Args;
use toolhost::http::HttpRule;

use super::origin;

/// The agent, the instance and the workdir of a call.
#[derive(Debug, Args)]
pub(crate) struct CallerArgs {
    /// The agent that calls; required if the bundle has several
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Key of the agent instance; each has its own workspace
    #[arg(long, value_name = "KEY", default_value = "cli")]
    pub(crate) instance: String,
    /// The directory that the tool sees as `/` [default: the instance's workspace]
    #[arg(long, value_name = "DIR")]
    pub(crate) workdir: Option<PathBuf>,
    /// The operator's policy: grants and limits of tools
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Let every tool send HTTP requests to this origin, such as https://api.example.com; may be repeated
    #[arg(long, value_name = "ORIGIN", value_parser = origin::parse)]
    pub(crate) allow_http: Vec<HttpRule>,
    /// The user whose grants of OAuthApps the tool uses
    #[arg(long, value_name = "USER")]
    pub(crate) subject: Option<String>,
    /// Add the resource usage to the JSON, as `usage`, and the files that the call changed, as `changes`
    #[arg(long)]
    pub(crate) usage: bool,
}

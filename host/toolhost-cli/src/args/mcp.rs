//! The arguments of `toolhost mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) action: McpAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpAction {
    /// Authorize this host at an MCP server, in a browser
    Login(LoginArgs),
    /// Remove the credentials for an MCP server
    Logout(LogoutArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// Name of the server in the policy
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The operator's policy, which has the server's URL and `oauth`
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: PathBuf,
    /// Ask for this scope as well; may be repeated
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// Port for the answer, for clients that are registered with one [default: a free one]
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub(crate) port: u16,
    /// Seconds to wait for the answer
    #[arg(long, value_name = "NUMBER", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) timeout: u32,
}

#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// Name of the server in the policy
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The operator's policy, which has the server's URL
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: PathBuf,
}

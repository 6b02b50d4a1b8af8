//! The arguments of `toolhost mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The long text of `toolhost mcp --help`.
pub(crate) const HELP: &str = "\
Examples:
  toolhost mcp login tracker --policy policy.yaml
  toolhost mcp login tracker --policy policy.yaml --scope issues:write
  toolhost mcp logout tracker --policy policy.yaml

The policy's `mcpServers.NAME` has the server's URL and `oauth`: see docs/mcp-servers.md. `login` prints a
URL, which you open in a browser of this machine. It listens on 127.0.0.1 for the answer, and keeps the
credentials in the state root, encrypted with the key file oauth.key there (mode 0600). `serve`, `call`, `list`
and `rpc` use them and renew them. `logout` removes them; it revokes nothing at the server.

Exit codes: 0 done · 1 not authorized · 2 wrong usage, or the policy or the state root cannot be used";

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

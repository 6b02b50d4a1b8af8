//! The arguments of `toolhost rpc`.

use std::path::PathBuf;

use clap::Args;

use super::serve::ServedTools;

/// The long text of `--help`.
pub(crate) const HELP: &str = "\
Examples:
  toolhost rpc my-bundle --workdir ~/project
  toolhost rpc my-bundle --socket /run/user/1000/tools.sock --policy policy.yaml
  toolhost rpc                             clients load bundles, and name agents and workdirs

Each message is one line of JSON:
  {\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"call/execute\", \"params\":
   {\"call\": {\"id\": \"call_1\", \"name\": \"text__upper\", \"args\": {\"text\": \"hi\"}}}}

docs/rpc.md lists the methods; there are clients for TypeScript and Python. What an option sets, no
client can change. Without --socket the client is the process that started this one: the server ends at
the end of stdin, and the calls that run are stopped. A socket can be opened by your user only.

Ctrl-C or SIGTERM: no new requests are accepted, calls that run end, then the server ends. The second
signal stops them.

Exit codes: 0 ended by the client, or drained · 2 wrong usage, or the bundle does not load, or the
client stopped reading · 129, 130, 143 stopped by a second signal";

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
    /// Listen on a Unix socket, in place of stdin and stdout
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
}

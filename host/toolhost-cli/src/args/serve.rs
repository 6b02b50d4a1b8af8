//! The arguments of `toolhost serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use toolhost::{LoadedBundle, http::HttpRule, search::ToolExposure};

use super::operation::OperationArgs;
use super::origin;
use crate::failure::{Failure, Hint};

#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArgs {
    /// Bundle file, directory that holds a goondan.yaml, or `base`: the tools that toolhost ships
    #[arg(value_name = "BUNDLE", default_value = "goondan.yaml")]
    pub(crate) bundle: PathBuf,
    /// The agent; required if the bundle has several
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The directory that tools see as `/` [default: the instance's workspace]
    #[arg(long, value_name = "DIR")]
    pub(crate) workdir: Option<PathBuf>,
    /// Key of the agent instance
    #[arg(long, value_name = "KEY", default_value = "default")]
    pub(crate) instance: String,
    /// The operator's policy: grants and limits of tools
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Let every tool send HTTP requests to this origin, such as https://api.example.com; may be repeated
    #[arg(long, value_name = "ORIGIN", value_parser = origin::parse)]
    pub(crate) allow_http: Vec<HttpRule>,
    /// What clients see: all tools; two that search them and call what they find; those that run programs, which call
    /// them; or both. Programs may call what the policy grants, or else every tool
    #[arg(long, value_name = "TOOLS", value_enum, default_value_t)]
    pub(crate) tools: ServedTools,
    /// Serve the client on stdin and stdout; the default
    #[arg(long, conflicts_with = "http")]
    pub(crate) stdio: bool,
    /// Serve clients over HTTP at this address, such as 127.0.0.1:8484
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<SocketAddr>,
    /// File of lines `INSTANCE TOKEN`
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) tokens: Option<PathBuf>,
    /// A name that the Host header may have, beside those of loopback; may be repeated
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    /// A page's origin that may send requests from a browser, such as https://app.example.com; may be repeated
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allow_origin: Vec<String>,
    /// The user for whom calls run: they use the user's grants of OAuthApps. Over HTTP, a token that is for one
    /// instance identifies the user instead
    #[arg(long, value_name = "USER")]
    pub(crate) subject: Option<String>,
    /// Accept the access tokens of this OAuth authorization server; a token's subject is its instance
    #[arg(long, value_name = "URL", requires_all = ["http", "oauth_resource"], conflicts_with = "workdir")]
    pub(crate) oauth_issuer: Option<String>,
    /// This server's endpoint as clients see it: the audience that access tokens must have
    #[arg(long, value_name = "URL", requires = "oauth_issuer")]
    pub(crate) oauth_resource: Option<String>,
    /// URL or file of the authorization server's keys (JWKS) [default: as its metadata says]
    #[arg(long, value_name = "URL|FILE", requires = "oauth_issuer")]
    pub(crate) oauth_keys: Option<String>,
    /// A scope that access tokens must have; may be repeated
    #[arg(long, value_name = "SCOPE", requires = "oauth_issuer")]
    pub(crate) oauth_scope: Vec<String>,
    /// Let clients list and read the files of their workdir as resources
    #[arg(long)]
    pub(crate) serve_workdir: bool,
    /// Load the bundle and the policy again when their files change
    #[arg(long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) operation: OperationArgs,
    /// Print what the configuration of a client needs for this server, and end
    #[arg(long, value_name = "CLIENT", value_enum)]
    pub(crate) print_config: Option<McpClient>,
}

/// What to do about a bundle without the tools that run programs.
pub(crate) const INCLUDE_BASE: &str =
    "Add the base tools to the bundle: a document `include: [base]` in goondan.yaml.";

/// What a client sees of an agent's tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServedTools {
    /// Each tool
    #[default]
    Direct,
    /// `tools__search` and `tools__call`
    Search,
    /// `javascript__script` and `python__script`, which run programs that call the tools, and `tools__search`
    Script,
    /// Those of `search` and `script`
    Both,
}

/// What is done about components that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Components {
    /// They are errors.
    Built,
    /// No Tool is served until a build has made all: what a guest could write of their sources meanwhile would run in the
    /// build, outside of the sandbox.
    BeingBuilt,
}

impl ServedTools {
    /// Gives the agents of a bundle the tools that search the others, if clients see these.
    ///
    /// # Errors
    /// The bundle has a tool of the same name.
    pub(crate) fn register(
        self,
        bundle: &LoadedBundle,
        components: Components,
    ) -> Result<(), Failure> {
        if self == Self::Direct {
            return Ok(());
        }
        let hint = "Serve the bundle with --tools direct, or give its Tool `tools` another name.";
        let registered = bundle.add_catalog_tools();
        registered.hint(hint)?;
        let is_whole = components == Components::Built;
        let mut agents = bundle.agents().iter();
        if is_whole && self.runs_programs() && !agents.any(|agent| agent.catalog().runs_programs())
        {
            let error = anyhow!(
                "the bundle has no tool that runs programs: javascript__script, python__script"
            );
            return Err(Failure::from(error).hint(INCLUDE_BASE));
        }
        Ok(())
    }

    /// Whether clients run programs.
    pub(crate) fn runs_programs(self) -> bool {
        matches!(self, Self::Script | Self::Both)
    }
}

impl From<ServedTools> for ToolExposure {
    fn from(tools: ServedTools) -> Self {
        match tools {
            ServedTools::Direct => Self::Direct,
            ServedTools::Search => Self::Search,
            ServedTools::Script => Self::Script,
            ServedTools::Both => Self::Both,
        }
    }
}

/// A client of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpClient {
    /// A command for a terminal
    ClaudeCode,
    /// .cursor/mcp.json
    Cursor,
    /// .vscode/mcp.json
    Vscode,
    /// A command for a terminal
    Inspector,
}

//! What a server is, and how it is reached.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use toolhost::ResourceName;
use toolhost::lock::ServerLock;

use crate::http_server::HttpServer;
use crate::limits::McpLimits;

/// An MCP server whose tools an agent gets.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct McpServerConfig {
    /// Name of the server. The extension that registers its tools is `mcp:NAME`.
    pub name: ResourceName,
    /// First part of the names of its tools: its tool `read` is `PREFIX__read`. The policy's limits for
    /// the tool `PREFIX` apply to them. Default: the name of the server.
    pub prefix: ResourceName,
    /// The server's tools that are used, by the server's names. Default: all.
    pub tools: Option<Vec<String>>,
    /// How the server is reached.
    pub transport: McpTransport,
    /// The reviewed tools. Others, and those that differ, are left out. Default: none; then nothing is compared.
    pub lock: Option<ServerLock>,
    /// A private directory in which it is remembered, for a week, that a server does not answer
    /// `server/discover`, so that later processes do not wait for it. It is made when it is needed. Default:
    /// none; then the handle alone remembers it.
    pub state_dir: Option<PathBuf>,
    /// Limits of what the server may send and how long it may take.
    pub limits: McpLimits,
}

impl McpServerConfig {
    /// A server with all of its tools and the default limits.
    pub fn new(name: ResourceName, transport: McpTransport) -> Self {
        Self {
            prefix: name.clone(),
            name,
            tools: None,
            transport,
            lock: None,
            state_dir: None,
            limits: McpLimits::default(),
        }
    }
}

/// How a server is reached.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum McpTransport {
    /// A process of this machine, over its standard input and output. It runs with the rights of this
    /// process.
    Stdio(StdioServer),
    /// A Streamable HTTP endpoint.
    Http(HttpServer),
}

/// A process that serves MCP over its standard input and output, a message per line.
#[derive(Clone)]
#[non_exhaustive]
pub struct StdioServer {
    /// The program: a path, or a name that is looked up in the `PATH` of `env` (without one in `/bin` and
    /// `/usr/bin`).
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment: nothing of this process's is passed on.
    pub env: BTreeMap<String, String>,
    /// Its working directory. Default: `/`.
    pub dir: PathBuf,
}

/// Omits the values of variables: they may be secrets.
impl fmt::Debug for StdioServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioServer")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env.keys())
            .field("dir", &self.dir)
            .finish()
    }
}

impl StdioServer {
    /// A program with these arguments, an empty environment, in `/`.
    #[must_use]
    pub fn new<S: Into<String>>(
        program: impl Into<String>,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            env: BTreeMap::new(),
            dir: PathBuf::from("/"),
        }
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }
}

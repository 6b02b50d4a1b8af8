//! What a server is, how it is reached, and its limits.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toolhost::{HttpClient, HttpGrant, HttpRule, HttpRuleError, Limits, ResourceName, Sandbox};

/// An MCP server whose tools an agent gets.
#[derive(Debug, Clone)]
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
    /// Limits of what the server may send and how long it may take.
    pub limits: McpLimits,
}

impl McpServerConfig {
    /// A server with all of its tools and the default limits.
    #[must_use]
    pub fn new(name: ResourceName, transport: McpTransport) -> Self {
        Self {
            prefix: name.clone(),
            name,
            tools: None,
            transport,
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

/// An MCP endpoint, and the client that reaches it and nothing else.
#[derive(Debug, Clone)]
pub struct HttpServer {
    pub(crate) url: Arc<str>,
    pub(crate) client: HttpClient,
}

impl HttpServer {
    /// An endpoint such as `https://mcp.example.com/mcp`. Its requests have the egress rules of guests: only
    /// this URL is allowed, whatever rules `grant` has; its name may resolve to public addresses and to the
    /// `private_networks` of `grant`; the credentials of `grant` are added to requests to the URL's origin
    /// and replaced in responses; redirects are not followed.
    ///
    /// # Errors
    /// [`HttpRuleError`] where no rule can allow the URL: it must have a scheme, a host and a path without
    /// `*`, and neither a query nor a fragment.
    pub fn new(sandbox: &Sandbox, url: &str, grant: HttpGrant) -> Result<Self, HttpRuleError> {
        if url.contains('*') {
            return Err(HttpRuleError::Star);
        }
        let path = url
            .split_once("://")
            .and_then(|(_, rest)| rest.split_once('/'));
        // A rule without a path allows every path.
        let url = match path {
            Some(_) => url.to_owned(),
            None => format!("{url}/"),
        };
        let rules =
            ["GET", "POST", "DELETE"].map(|method| HttpRule::parse(&format!("{method} {url}")));
        let rules: Result<Vec<HttpRule>, HttpRuleError> = rules.into_iter().collect();
        let grant = HttpGrant {
            allow: rules?.into(),
            ..grant
        };
        let client = sandbox.http_client(&url, Arc::new(grant), http_limits());
        Ok(Self {
            url: url.into(),
            client,
        })
    }
}

/// Limits of one request. A stream of events stays open, so that neither its bytes nor its silence end
/// it: see [`McpLimits::message_bytes`], and the deadline of calls.
fn http_limits() -> Limits {
    const HOUR: Duration = Duration::from_secs(3600);
    Limits {
        http_response_bytes: u64::MAX,
        http_first_byte: HOUR,
        http_between_bytes: HOUR,
        ..Limits::default()
    }
}

/// Limits of a server. A call also has the limits of its tool in the policy: its deadline, and the size and
/// depth of its output.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpLimits {
    /// Time in which a server must start, initialize and list its tools. Default 30 s.
    pub start: Duration,
    /// Time in which a process must take a message. Default 10 s.
    pub send: Duration,
    /// Time in which a process must end once its standard input is closed; then its group is killed.
    /// Default 2 s.
    pub shutdown: Duration,
    /// Bytes of one message: a line, an event, or a body. Default 16 MiB. A longer line or event
    /// ends the connection, a longer body fails its request.
    pub message_bytes: usize,
    /// Messages of the server that answer no request, in 10 s: notifications, its own requests, repeated
    /// and foreign answers, lines that are no message. More end the connection. Default 10,000.
    pub unsolicited: u32,
    /// Requests of the server that wait for an answer. More end the connection. Default 32.
    pub server_requests: usize,
    /// Tools of the server. More are left out, with a finding. Default 500.
    pub tools: usize,
    /// Bytes of all descriptions and schemas of the server. A larger list is refused. Default 4 MiB.
    pub list_bytes: usize,
    /// Calls that run at once; further calls wait. Default 64.
    pub calls: usize,
    /// Least time between two updates of the list of tools. Default 1 s.
    pub list_interval: Duration,
    /// Delay before the first attempt to reconnect. It doubles with each attempt that fails. Default
    /// 500 ms.
    pub backoff_min: Duration,
    /// Longest delay before an attempt. Default 60 s. Every delay is varied by up to a quarter.
    pub backoff_max: Duration,
    /// Attempts in a row that fail before the next one waits for a call. Default 8.
    pub attempts: u32,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            send: Duration::from_secs(10),
            shutdown: Duration::from_secs(2),
            message_bytes: 16 << 20,
            unsolicited: 10_000,
            server_requests: 32,
            tools: 500,
            list_bytes: 4 << 20,
            calls: 64,
            list_interval: Duration::from_secs(1),
            backoff_min: Duration::from_millis(500),
            backoff_max: Duration::from_secs(60),
            attempts: 8,
        }
    }
}

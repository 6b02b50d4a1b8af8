//! MCP servers as a source of tools.
//!
//! [`McpServer::start`] starts a server or connects to it, and registers its tools with agents as an
//! [extension](toolhost::Agent::extend). A call of such a tool walks the path of every call: admission,
//! validation, middleware, deadline, limits, redaction. Types of the protocol's SDK stay in this crate.
//!
//! ```no_run
//! # async fn example(agent: &toolhost::Agent) -> Result<(), Box<dyn std::error::Error>> {
//! use toolhost::ResourceName;
//! use toolhost_mcp_client::{McpServer, McpServerConfig, McpTransport, StdioServer};
//!
//! let files = StdioServer::new("/usr/bin/mcp-server-filesystem", ["/srv/project"]);
//! let config = McpServerConfig::new(ResourceName::parse("files")?, McpTransport::Stdio(files));
//! let server = McpServer::start(config, [agent.clone()]).await?;
//! for finding in server.findings() {
//!     eprintln!("{finding}");
//! }
//! // The agent's next step has the tools `files__read_file`, `files__list_directory`, ….
//! server.close().await;
//! # Ok(())
//! # }
//! ```

mod answer;
mod backoff;
mod bundle;
mod catalog;
mod challenge;
mod client;
mod config;
mod connection;
mod egress_error;
mod envelope;
mod error;
mod guard;
mod handler;
mod http;
mod http_server;
mod inbox;
mod limits;
mod list;
mod names;
mod oauth;
mod output;
mod process;
mod server;
mod startup;
mod state;
mod stdio;
mod supervisor;
mod unauthorized;

pub use bundle::McpServers;
pub use config::{McpServerConfig, McpTransport, StdioServer};
pub use error::{McpError, McpFinding};
pub use http_server::HttpServer;
pub use limits::McpLimits;
pub use oauth::{McpAuthorization, McpAuthorizationRequest, McpAuthorizer};
pub use server::{McpServer, McpStatus};

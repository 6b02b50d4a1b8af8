//! Serves the tools of an agent over the [Model Context Protocol](https://modelcontextprotocol.io).
//!
//! An [`McpServer`] answers MCP clients with the tools of an [`Instance`](toolhost::Instance): over a
//! stream such as stdin and stdout with [`McpServer::serve`], and over HTTP with [`HttpServer`]. It speaks
//! the revisions 2025-11-25 (and older ones with `initialize`) and 2026-07-28.
//!
//! Each `tools/call` is one turn with one step: it is admitted, validated, run and reported exactly as a
//! call of [`Step::execute`](toolhost::Step::execute). A cancelled request, and a dropped HTTP response, stop
//! the guest.
//!
//! The crate logs no arguments and no outputs. The SDK beneath it does, at the level `DEBUG` of the target
//! `rmcp`, notifications of clients at `INFO` and errors at `WARN`: leave this target out of a subscriber.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use toolhost::{Host, LiveBundle};
//! use toolhost_mcp::{HttpConfig, HttpServer, McpConfig, McpServer, ServedAgent};
//!
//! let host = Host::builder().state_root("/var/lib/tools").build()?;
//! let bundle = LiveBundle::new(host.load_to_serve("goondan.yaml").await?);
//! let server = McpServer::new(ServedAgent::new(bundle), McpConfig::default());
//!
//! let address = "127.0.0.1:8484".parse()?;
//! let http = HttpServer::bind(&server, address, HttpConfig::default()).await?;
//! http.run().await; // until `server.drain()`
//! # Ok(())
//! # }
//! ```

mod config;
mod files;
mod handler;
mod http;
mod incoming;
mod instance_error;
mod list_changes;
mod metrics;
mod result;
mod served;
mod server;
mod shared;
mod shares;
mod stream_transport;
mod stream_writer;
mod subscriptions;
mod tool;
mod unanswered;
mod workspaces;

pub use config::McpConfig;
pub use http::{
    BearerToken, HttpConfig, HttpError, HttpServer, OAuthConfig, OAuthConfigError, OAuthKeys,
    StartingServer, ValidTokens,
};
pub use served::ServedAgent;
pub use server::{McpServer, ServeError};

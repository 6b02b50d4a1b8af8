//! Configuration of the HTTP server, with its limits.

use std::time::Duration;

use super::oauth::OAuthConfig;
use super::token::BearerToken;

/// Configuration of an [`HttpServer`](crate::HttpServer).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpConfig {
    /// Tokens of which a request must present one. Default: none; then every request is served, which is
    /// for loopback only.
    pub tokens: Vec<BearerToken>,
    /// The authorization server whose access tokens are valid too. Default: none.
    pub oauth: Option<OAuthConfig>,
    /// Names that the `Host` header may have, with or without a port. Default: `localhost`, `127.0.0.1` and
    /// `[::1]`.
    pub allowed_hosts: Vec<String>,
    /// Values that the `Origin` header of a browser may have, such as `https://app.example.com`, beside the
    /// host and port of the request itself. Default: none, so that pages of other servers are refused.
    /// Preflight requests of these pages are answered.
    pub allowed_origins: Vec<String>,
    /// Bytes of the body of a request. Default: 4 MiB.
    pub body_bytes: usize,
    /// Longest time in which the head of a request must arrive, and then its body. Default: 15 s each.
    pub read_timeout: Duration,
    /// Longest time that a response waits for the client to read. Then the connection ends. Default: 30 s.
    pub write_timeout: Duration,
    /// Open connections. Further ones wait to be accepted. At most half of them are streams of
    /// notifications, and a quarter those of one instance. Default: 1,024.
    pub max_connections: usize,
    /// Sessions of clients that send `initialize`. Further clients get the status 503. Default: 1,000.
    pub max_sessions: usize,
    /// Sessions of one instance. Default: 500.
    pub max_instance_sessions: usize,
    /// Time after which a session in which no request runs ends, and its stream of notifications with it.
    /// Default: 5 min.
    pub session_idle: Duration,
    /// The instance of requests to `/mcp` whose token names none. Default: `default`.
    pub default_instance: String,
    /// Whether `/mcp/KEY` is served, with the instance `KEY`. Default: true.
    pub serve_paths: bool,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            tokens: Vec::new(),
            oauth: None,
            allowed_hosts: ["localhost", "127.0.0.1", "[::1]"]
                .map(str::to_owned)
                .into(),
            allowed_origins: Vec::new(),
            body_bytes: 4 << 20,
            read_timeout: Duration::from_secs(15),
            write_timeout: Duration::from_secs(30),
            max_connections: 1024,
            max_sessions: 1000,
            max_instance_sessions: 500,
            session_idle: Duration::from_secs(300),
            default_instance: "default".to_owned(),
            serve_paths: true,
        }
    }
}

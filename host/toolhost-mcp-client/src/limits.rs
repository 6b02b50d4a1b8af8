//! Limits of a server.

use std::time::Duration;

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
    /// JSON values of one result, those in arrays and objects included. Beyond them the call ends with
    /// `MCP_INVALID_ANSWER`, and a list fails. Default 500,000.
    pub message_values: u64,
    /// Messages of the server that answer no request, in 10 s: notifications, its own requests, repeated
    /// and foreign answers, lines that are not messages. More end the connection. Default 10,000.
    pub unsolicited: u32,
    /// Requests of the server that wait for an answer. More end the connection. Default 32.
    pub server_requests: usize,
    /// Tools of the server. More are left out, with a finding. Default 500.
    pub tools: usize,
    /// Bytes of all descriptions and schemas of the server. Tools beyond them are left out, with a finding.
    /// Default 4 MiB.
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
    /// Time for one request to an authorization server, or for its metadata. An answer has at most 1 MiB, and
    /// one token needs at most 40 requests. Default 20 s.
    pub oauth_request: Duration,
    /// Time in which a person must answer an authorization. A start and a call wait for it. Default
    /// 5 minutes.
    pub authorization: Duration,
    /// How often a person is asked in ten minutes. Default 3.
    pub authorizations: u32,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            send: Duration::from_secs(10),
            shutdown: Duration::from_secs(2),
            message_bytes: 16 << 20,
            message_values: 500_000,
            unsolicited: 10_000,
            server_requests: 32,
            tools: 500,
            list_bytes: 4 << 20,
            calls: 64,
            list_interval: Duration::from_secs(1),
            backoff_min: Duration::from_millis(500),
            backoff_max: Duration::from_secs(60),
            attempts: 8,
            oauth_request: Duration::from_secs(20),
            authorization: Duration::from_secs(300),
            authorizations: 3,
        }
    }
}

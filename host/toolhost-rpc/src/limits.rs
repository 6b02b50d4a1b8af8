//! The limits of a server.

use std::time::Duration;

/// What clients may use. A request beyond a limit gets an error; where the client cannot get one, its
/// connection ends.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RpcLimits {
    /// Bytes of a line. A longer one is skipped and answered with an error. Default 16 MiB.
    pub line_bytes: usize,
    /// JSON values in a line. Each takes about 100 bytes of memory. Default 200,000.
    pub line_values: u64,
    /// Time in which a line must arrive whole, and in which the client must take a line of the server's;
    /// then the connection ends. Default 60 s.
    pub line_timeout: Duration,
    /// Requests that run at once for one connection. Default 1,024.
    pub requests: usize,
    /// Memory of the requests that run for one connection, in bytes: their lines and values.
    /// Default 64 MiB.
    pub request_bytes: usize,
    /// Bytes of answers that one connection has not read; beyond it the connection ends.
    /// Default 64 MiB.
    pub answer_bytes: usize,
    /// Memory of the requests of all connections, and bytes of all answers that were not read; each
    /// counted apart. Default 1 GiB.
    pub all_bytes: usize,
    /// Connections at once. Default 1,024.
    pub connections: usize,
    /// Bundles that one connection has loaded. Default 16.
    pub bundles: usize,
    /// Open turns of one connection. Default 256.
    pub turns: usize,
    /// Open steps of one connection. Default 1,024.
    pub steps: usize,
    /// A turn that was not used for this long is dropped, with its steps. Default one hour.
    pub idle_turn: Duration,
}

impl Default for RpcLimits {
    fn default() -> Self {
        Self {
            line_bytes: 16 << 20,
            line_values: 200_000,
            line_timeout: Duration::from_secs(60),
            requests: 1024,
            request_bytes: 64 << 20,
            answer_bytes: 64 << 20,
            all_bytes: 1 << 30,
            connections: 1024,
            bundles: 16,
            turns: 256,
            steps: 1024,
            idle_turn: Duration::from_secs(60 * 60),
        }
    }
}

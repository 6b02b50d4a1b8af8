//! Why an exchange fails.

use std::io;
use std::time::Duration;

use wasip2::http::types::ErrorCode;

#[derive(Debug)]
pub enum Fault {
    /// No complete response within this time.
    Timeout(Duration),
    /// What the host says: it refuses the request, or the network fails.
    Http(ErrorCode),
    /// The host does not send a header, such as `host` or one with a line break.
    Header { name: String, reason: String },
    /// A file of the request's body.
    File { path: String, error: io::Error },
    /// A file became shorter while it was sent.
    FileChanged(String),
}

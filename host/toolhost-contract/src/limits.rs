//! The limits of one call.

use std::time::Duration;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Limits of one call. They bound all data that a guest can send to the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Running time, without queueing. Default 30 s.
    pub deadline: Duration,
    /// Bytes of all linear memories and of the host's buffers for HTTP requests.
    /// Default 256 MiB, at most 4 GiB.
    pub memory_bytes: u64,
    /// Elements of all tables. Default 100,000.
    pub table_elements: u64,
    /// Core instances, memories and tables a component may have. Default 1,000 each.
    pub instances: usize,
    /// Live handles: descriptors, streams, pollables. Default 1,000.
    pub handles: usize,
    /// Bytes a guest may pass in one host call: strings and lists. Default 16 MiB.
    pub hostcall_bytes: usize,
    /// Bytes of one `get-random-bytes`. Default 64 KiB.
    pub random_bytes: u64,
    /// Bytes of the result's JSON. Default 1 MiB.
    pub output_bytes: u64,
    /// Nesting depth of JSON arguments and results. Default 64.
    pub json_depth: usize,
    /// Values in a result's JSON. Each takes 70 to 400 bytes of memory once parsed. Default 200,000.
    pub json_values: u64,
    /// Bytes of the arguments' JSON. Default 1 MiB. See [`Limits::message_bytes`].
    pub input_bytes: u64,
    /// Bytes kept of stdout and of stderr: half from the head, half from the tail. Default 64 KiB.
    pub stdio_bytes: usize,
    /// Log records kept. Default 1,000.
    pub log_records: u64,
    /// Bytes kept of one log record. Default 4 KiB.
    pub log_record_bytes: usize,
    /// Bytes written to files, plus 4 KiB for each name created. Default 64 MiB.
    pub disk_bytes: u64,
    /// Files, directories and links created. Default 10,000.
    pub files: u64,
    /// Bytes by which all calls together may grow the workdir during the life of the sandbox. Each name
    /// counts as 4 KiB until it is removed. A file without a name counts only for its call.
    /// Default 1 GiB.
    pub workdir_bytes: u64,
    /// Names listed by all directory listings of the call. Default 100,000.
    pub listed_names: u64,
    /// Open files and directories. Default 256.
    pub open_files: u64,
    /// HTTP requests of the call, failed ones included. Default 100.
    pub http_requests: u64,
    /// Concurrent HTTP requests. Further requests wait until a response is read or dropped. Default 8.
    pub http_concurrent: usize,
    /// Bytes of all request bodies. Default 16 MiB.
    pub http_request_bytes: u64,
    /// Bytes of all response bodies. Default 64 MiB.
    pub http_response_bytes: u64,
    /// Bytes of the headers of one request or response, at least 8 KiB. Default 64 KiB.
    pub http_header_bytes: usize,
    /// Headers of one request or response. Default 100.
    pub http_headers: usize,
    /// Time to wait for a slot, resolve the name, connect and finish the TLS handshake. Default 10 s.
    pub http_connect: Duration,
    /// Time from the end of [`Self::http_connect`] to the headers of the response. Default 30 s.
    pub http_first_byte: Duration,
    /// Time between two frames of the response body. Default 30 s.
    pub http_between_bytes: Duration,
    /// Calls of other tools, those that they make included. Default 1,000.
    pub tool_calls: u64,
    /// Concurrent calls of other tools, those that they make included. Default 16.
    pub tool_calls_at_once: u64,
    /// Bytes of the arguments and the outputs of all calls of other tools. Default 64 MiB.
    pub tool_call_bytes: u64,
}

/// A disk limit that a call exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskLimit {
    /// [`Limits::disk_bytes`].
    CallBytes,
    /// [`Limits::files`].
    Files,
    /// [`Limits::workdir_bytes`].
    WorkdirBytes,
    /// The disk is full, or the quota of the host's user is used up.
    Disk,
}

impl Limits {
    /// Returns the limit of the assistant message's JSON in bytes: four times [`Limits::input_bytes`],
    /// because the message also contains other calls and text.
    pub fn message_bytes(&self) -> u64 {
        self.input_bytes.saturating_mul(4)
    }

    /// Returns the limit of the assistant message's nesting: [`Limits::json_depth`] plus eight.
    pub fn message_depth(&self) -> usize {
        self.json_depth.saturating_add(8)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(30),
            memory_bytes: 256 * MIB,
            table_elements: 100_000,
            instances: 1_000,
            handles: 1_000,
            hostcall_bytes: 16 << 20,
            random_bytes: 64 * KIB,
            output_bytes: MIB,
            json_depth: 64,
            json_values: 200_000,
            input_bytes: MIB,
            stdio_bytes: 64 << 10,
            log_records: 1_000,
            log_record_bytes: 4 << 10,
            disk_bytes: 64 * MIB,
            files: 10_000,
            workdir_bytes: 1024 * MIB,
            listed_names: 100_000,
            open_files: 256,
            http_requests: 100,
            http_concurrent: 8,
            http_request_bytes: 16 * MIB,
            http_response_bytes: 64 * MIB,
            http_header_bytes: 64 << 10,
            http_headers: 100,
            http_connect: Duration::from_secs(10),
            http_first_byte: Duration::from_secs(30),
            http_between_bytes: Duration::from_secs(30),
            tool_calls: 1_000,
            tool_calls_at_once: 16,
            tool_call_bytes: 64 * MIB,
        }
    }
}

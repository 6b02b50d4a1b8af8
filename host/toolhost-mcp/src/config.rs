//! Configuration of the server, with its limits.

use std::time::Duration;

use toolhost::search::ToolExposure;

/// Configuration of an [`McpServer`](crate::McpServer).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct McpConfig {
    /// Time between two progress notifications of a running call, for clients that ask for progress.
    /// Clients that reset their timeout on progress then wait for calls of any length. Default: 5 s.
    pub progress_interval: Duration,
    /// Calls that run at the same time, of all clients. Further calls are answered with an error at once.
    /// Default: 1,024.
    pub max_calls: usize,
    /// Calls that run at the same time, of one instance. Further ones are answered with an error at once.
    /// Default: 256.
    pub max_instance_calls: usize,
    /// Bytes of one message. A longer one on a stream is skipped and answered with an error; over HTTP,
    /// [`HttpConfig::body_bytes`](crate::HttpConfig::body_bytes) is lower. Default: 16 MiB.
    pub message_bytes: usize,
    /// JSON values of one message, counted before it is parsed. Each takes about 100 bytes of memory. A message
    /// with more is answered with an error. Default: 200,000.
    pub message_values: u64,
    /// Memory of the requests that run, of all clients, in bytes: their text and their values. An instance may
    /// have a quarter of it. A request beyond it is answered with an error. Default: 1 GiB.
    pub request_bytes: usize,
    /// Longest time that a message on a stream waits for the client to read. Then the connection ends.
    /// Default: 60 s.
    pub write_timeout: Duration,
    /// Bytes of a workdir file that a result carries; of a larger one it carries a link. Default: 1 MiB.
    pub file_bytes: u64,
    /// Bytes of all workdir files that a result carries; of those beyond it carries links. Default: 4 MiB.
    pub result_file_bytes: u64,
    /// Workdir files that one result may name. Default: 16.
    pub max_files: usize,
    /// Bytes of a workdir file that a client reads as a resource. Default: 8 MiB.
    pub resource_bytes: u64,
    /// Whether clients may list and read the files of their workdir as resources. Default: false.
    pub serve_workdir: bool,
    /// Which tools clients see of the agent's. With [`ToolExposure::Search`] the agent must have
    /// [`toolhost::catalog_tools`]. Default: all.
    pub tools: ToolExposure,
    /// The user for whom calls run: they use the user's grants of OAuthApps with `subjectMode: user`. Over HTTP,
    /// a token that is valid for one instance alone identifies the user instead: the key of the instance.
    /// Default: none.
    pub subject: Option<String>,
    /// The address of the page on which people approve calls that wait, such as `http://127.0.0.1:7333/`: clients get
    /// the address of each approval, made by [`approval_address`](toolhost::approvals::approval_address). Default: none.
    pub approvals_url: Option<String>,
    /// Longest time that a call waits for a decision which a client makes again after its user has opened that address.
    /// Clients end calls after 60 s. Default: 50 s.
    pub approval_wait: Duration,
}

impl Default for McpConfig {
    fn default() -> Self {
        Self {
            progress_interval: Duration::from_secs(5),
            max_calls: 1024,
            max_instance_calls: 256,
            message_bytes: 16 << 20,
            message_values: 200_000,
            request_bytes: 1 << 30,
            write_timeout: Duration::from_secs(60),
            file_bytes: 1 << 20,
            result_file_bytes: 4 << 20,
            max_files: 16,
            resource_bytes: 8 << 20,
            serve_workdir: false,
            tools: ToolExposure::default(),
            subject: None,
            approvals_url: None,
            approval_wait: Duration::from_secs(50),
        }
    }
}

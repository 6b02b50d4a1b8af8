//! A bundle with one server, and calls of its tools.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolhost::{Agent, Host, LoadedBundle, Policy, ResourceName, ToolCall, ToolResult};
use toolhost_mcp_client::{McpLimits, McpServer, McpServerConfig, McpTransport, StdioServer};

/// A place for files, and a bundle whose only agent gets tools.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
    pub(crate) bundle: LoadedBundle,
    pub(crate) host: Host,
}

/// A bundle with an MCP server that no policy grants, so that it has an agent without tools.
const BUNDLE: &str = "
apiVersion: goondan.ai/v1
kind: McpServer
metadata: {name: unused}
spec: {transport: {http: {url: http://127.0.0.1:1/}}}
";

impl Place {
    /// Calls have a deadline that a busy machine does not reach.
    pub(crate) async fn new() -> Self {
        let policy = "defaults: {limits: {deadlineMs: 600000}}";
        Self::with(BUNDLE, policy).await.unwrap()
    }

    /// Loads a bundle under a policy.
    pub(crate) async fn with(bundle: &str, policy: &str) -> Result<Self, toolhost::LoadError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("bundle")).unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        let manifest = dir.path().join("bundle/goondan.yaml");
        std::fs::write(&manifest, bundle).unwrap();
        let policy = Policy::parse_with(policy, "policy.yaml", &|_| Ok("from the host".to_owned()));
        let host = Host::builder().policy(policy.unwrap()).build().unwrap();
        let bundle = host.load(&manifest).await?;
        Ok(Self { dir, bundle, host })
    }

    pub(crate) fn agent(&self) -> Agent {
        self.bundle.only_agent().unwrap()
    }

    /// The file in which a server records what it received.
    pub(crate) fn record(&self) -> PathBuf {
        self.dir.path().join("record")
    }

    pub(crate) fn recorded(&self) -> String {
        std::fs::read_to_string(self.record()).unwrap_or_default()
    }

    /// The scripted server in this mode.
    pub(crate) fn scripted(&self, mode: &str) -> McpServerConfig {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/scripted.py");
        let record = self.record();
        let server = StdioServer::new(python(), [script, mode, record.to_str().unwrap()])
            .env("PATH", std::env::var("PATH").unwrap());
        config("srv", McpTransport::Stdio(server))
    }

    pub(crate) async fn start(&self, mode: &str) -> McpServer {
        self.start_with(mode, |_| {}).await
    }

    pub(crate) async fn start_with(
        &self,
        mode: &str,
        change: impl FnOnce(&mut McpServerConfig),
    ) -> McpServer {
        let mut config = self.scripted(mode);
        change(&mut config);
        McpServer::start(config, [self.agent()]).await.unwrap()
    }

    /// The names of the tools in the agent's next step.
    pub(crate) fn tools(&self) -> Vec<String> {
        let catalog = self.agent().catalog();
        let items = catalog.items().iter();
        items.map(|item| item.name.to_string()).collect()
    }

    /// Calls a tool in a step of its own.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> ToolResult {
        let workdir = self.host.workdir(self.dir.path().join("work")).unwrap();
        let instance = self.agent().instance("k", workdir);
        let turn = instance.open_turn("t").await.unwrap();
        let step = turn.open_step().await.unwrap();
        let Value::Object(args) = args else {
            panic!("arguments are an object");
        };
        step.execute_without_message(ToolCall::new("c", tool, args))
            .await
    }

    /// Calls a tool that succeeds.
    pub(crate) async fn output(&self, tool: &str, args: Value) -> Value {
        let result = self.call(tool, args).await;
        match result.output() {
            Some(output) => output.clone(),
            None => panic!("{tool}: {:?}", result.tool_error()),
        }
    }

    /// Calls a tool that fails. Returns the code and the message.
    pub(crate) async fn error(&self, tool: &str, args: Value) -> (String, String) {
        let result = self.call(tool, args).await;
        let error = result.tool_error();
        let error = error.unwrap_or_else(|| panic!("{tool}: {:?}", result.output()));
        (error.code.to_string(), error.message.clone())
    }

    /// Calls `echo`, which shows that the server works.
    pub(crate) async fn echoes(&self) {
        let text = json!({"text": "hello"});
        assert_eq!(self.output("srv__echo", text).await, json!("hello"));
    }

    /// Waits until the server works again.
    pub(crate) async fn recovers(&self) {
        let text = json!({"text": "hello"});
        until("the server works again", async || {
            self.call("srv__echo", text.clone()).await.output() == Some(&json!("hello"))
        })
        .await;
    }
}

/// The interpreter itself: `python3` may be a script that sets variables.
pub(crate) fn python() -> String {
    let print = [
        "-c",
        "import sys; assert sys.version_info >= (3, 10); print(sys.executable)",
    ];
    let printed = std::process::Command::new("python3").args(print).output();
    let printed = printed.expect("python3, 3.10 or later, is in PATH");
    String::from_utf8(printed.stdout).unwrap().trim().to_owned()
}

/// A server with short delays.
pub(crate) fn config(name: &str, transport: McpTransport) -> McpServerConfig {
    let mut config = McpServerConfig::new(ResourceName::parse(name).unwrap(), transport);
    let limits: &mut McpLimits = &mut config.limits;
    limits.backoff_min = Duration::from_millis(50);
    limits.backoff_max = Duration::from_millis(200);
    limits.list_interval = Duration::from_millis(100);
    limits.shutdown = Duration::from_millis(500);
    config
}

/// Waits until a condition holds, at most 20 s.
pub(crate) async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "not in time: {what}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Whether a process exists, zombies included.
pub(crate) fn is_alive(pid: u64) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// The processes that have this text in their command line.
pub(crate) fn processes_with(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(command) = std::fs::read(entry.path().join("cmdline")) else {
            continue;
        };
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        if command.contains(text) {
            found.push(format!("{}: {command}", entry.file_name().display()));
        }
    }
    found
}

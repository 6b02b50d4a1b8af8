//! Support for the integration tests: guests, a shared sandbox, a test host, temporary workdirs.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "test support: a failed setup panics"
)]

pub mod mcp_client;
pub mod process_usage;
pub mod shared_buffer;
#[cfg(doctest)]
mod snippets;
pub mod test_host;
pub mod wasi_version;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Value, json};
use toolhost_contract::{AssistantMessage, ExportName, ToolCall, ToolContext};
use toolhost_sandbox::{
    CacheConfig, CallReport, Grants, Invocation, Limits, Operation, Outcome, PreparedTool, Sandbox,
    SandboxConfig, Workdir, WorkdirRules, WriteProtected,
};

/// Returns a path in the workspace, such as `target/guests`.
#[must_use]
pub fn root(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(path)
}

/// Returns the component of a guest that `cargo xtask guests` built. `NAME@0.2.6` is the guest with
/// imports of that release of WASI.
#[must_use]
pub fn guest(name: &str) -> Vec<u8> {
    if let Some((name, version)) = name.split_once('@') {
        return wasi_version::importing(version, &guest(name));
    }
    let path = root("target/guests").join(format!("{name}.wasm"));
    std::fs::read(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; run `cargo xtask guests`", path.display()))
}

/// Returns the sandbox that the tests of one process share. Its cache is shared by all test
/// processes, so that each guest is compiled once.
#[must_use]
pub fn sandbox() -> Sandbox {
    static SHARED: OnceLock<Sandbox> = OnceLock::new();
    SHARED.get_or_init(|| own_sandbox(|_| ())).clone()
}

/// Returns a new sandbox that uses the shared cache.
#[must_use]
pub fn own_sandbox(change: impl FnOnce(&mut SandboxConfig)) -> Sandbox {
    let key_file = root("target/test-state/cache.key");
    let cache = CacheConfig::new(root("target/test-cache"), key_file);
    let mut config = SandboxConfig::default();
    config.cache = Some(cache);
    change(&mut config);
    Sandbox::new(config).expect("a sandbox starts")
}

/// Returns the cache in which the examples in TypeScript and Python were compiled when they were built.
#[must_use]
pub fn cache_of_builds() -> CacheConfig {
    let built = root("target/guests-build");
    CacheConfig::new(
        built.join("cache/toolhost"),
        built.join("state/toolhost/cache.key"),
    )
}

/// Returns a guest prepared in the shared sandbox; each guest is prepared once.
pub async fn prepared(name: &str) -> PreparedTool {
    type Known = Mutex<std::collections::HashMap<String, Arc<tokio::sync::OnceCell<PreparedTool>>>>;
    static KNOWN: OnceLock<Known> = OnceLock::new();
    let cell = {
        let mut known = KNOWN
            .get_or_init(Mutex::default)
            .lock()
            .expect("no test panics here");
        Arc::clone(known.entry(name.to_owned()).or_default())
    };
    let prepare = || async { prepare_in(&sandbox(), name).await };
    cell.get_or_init(prepare).await.clone()
}

/// Prepares a guest in a sandbox.
pub async fn prepare_in(sandbox: &Sandbox, name: &str) -> PreparedTool {
    let prepared = sandbox.prepare(guest(name)).await;
    prepared.expect("the guest loads").0
}

/// A temporary workdir, opened for guests.
pub struct Work {
    /// The directory on the host.
    pub dir: tempfile::TempDir,
    /// Its handle.
    pub workdir: Workdir,
}

impl Work {
    /// Creates an empty workdir.
    #[must_use]
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let workdir = sandbox()
            .open_workdir(dir.path(), &WorkdirRules::default())
            .expect("it opens");
        Self { dir, workdir }
    }

    /// Returns a path in it.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }
}

impl Default for Work {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns a call of one handler.
#[must_use]
pub fn invocation(handler: &str, input: &Value, workdir: Option<&Work>) -> Invocation {
    let call = ToolCall::new("call-1", "tool__handler", serde_json::Map::new());
    Invocation {
        operation: Arc::new(Operation::Handler {
            name: ExportName::parse(handler).expect("a name"),
            input: input.to_string(),
        }),
        context: ToolContext {
            agent_name: "coder".into(),
            instance_key: "instance".into(),
            turn_id: "turn-1".into(),
            tool_call_id: call.id.as_str().into(),
            trace_id: None,
            message: AssistantMessage::for_call(&call),
            workdir: "/".into(),
        },
        workdir: workdir.map(|work| work.workdir.clone()),
        protected: WriteProtected::default(),
        grants: Grants::none(),
        agents: None,
        tools: None,
        outer: None,
        effects: None,
        log: None,
        limits: Limits::default(),
        record: None,
    }
}

/// Runs the handler `run` of a guest in a new workdir.
pub async fn run(name: &str, input: Value) -> CallReport {
    let work = Work::new();
    prepared(name)
        .await
        .call(invocation("run", &input, Some(&work)))
        .await
}

/// Returns the output of a call that must succeed.
#[track_caller]
pub fn output(report: &CallReport) -> &Value {
    match &report.outcome {
        Ok(Outcome::Output(output)) => output,
        other => panic!("no output: {other:?}"),
    }
}

/// Returns the default limits with a change.
#[must_use]
pub fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

/// Returns the input of a guest that reads none.
#[must_use]
pub fn nothing() -> Value {
    json!({})
}

/// Waits until `holds` returns true, and lets other tasks run; fails after ten seconds.
pub async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let started = std::time::Instant::now();
    while !holds() {
        assert!(
            started.elapsed().as_secs() < 10,
            "timed out after ten seconds, waiting until {what}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

//! Tests of changesets: each of a commit's results with its effect on the disk.

mod activation;
mod conflicts;
mod grants;
mod killed;
mod paths;
mod results;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};
use toolhost::sandbox::CacheConfig;
use toolhost::{
    Host, Instance, LiveBundle, Policy, Sandbox, SandboxConfig, Step, ToolCall, ToolResult,
};

use crate::{ChangesetOwner, Changesets, CommitOutcome};

const POLICY: &str = "agents: {default: {changesets: true}}";

fn target(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../target")
        .join(path)
}

/// Returns the component of a guest that `cargo xtask guests` built.
fn guest(name: &str) -> Vec<u8> {
    let path = target("guests").join(format!("{name}.wasm"));
    fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask guests`", path.display()))
}

fn sandbox() -> Sandbox {
    static SHARED: OnceLock<Sandbox> = OnceLock::new();
    let new = || {
        let mut config = SandboxConfig::default();
        let key_file = target("test-state/cache.key");
        config.cache = Some(CacheConfig::new(target("test-cache"), key_file));
        Sandbox::new(config).unwrap()
    };
    SHARED.get_or_init(new).clone()
}

/// Returns a Tool with the component `{entry}.wasm`.
fn tool(name: &str, entry: &str, export: &str) -> String {
    let spec = json!({"entry": format!("./{entry}.wasm"), "exports": [{"name": export}]});
    let tool = json!({
        "apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": name}, "spec": spec,
    });
    tool.to_string()
}

fn documents(tools: &[String]) -> String {
    tools.join("\n---\n")
}

/// A bundle with the tool `text`, in a folder `bundle` beside the state root `state`.
struct Fixture {
    top: tempfile::TempDir,
    live: LiveBundle,
    changesets: Changesets,
    owner: ChangesetOwner,
}

impl Fixture {
    async fn new() -> Self {
        Self::with_policy(POLICY).await
    }

    async fn with_policy(policy: &str) -> Self {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("bundle")).unwrap();
        let manifest = tool("text", "text", "upper");
        fs::write(top.path().join("bundle/goondan.yaml"), manifest).unwrap();
        fs::write(top.path().join("bundle/text.wasm"), guest("text")).unwrap();
        fs::write(top.path().join("bundle/notes.md"), "one\ntwo\n").unwrap();
        fs::create_dir(top.path().join("work")).unwrap();
        Self::load(top, policy).await
    }

    /// Loads what is in a directory, as another process would.
    async fn load(top: tempfile::TempDir, policy: &str) -> Self {
        let host = Host::builder().sandbox(sandbox());
        let host = host.policy(Policy::parse(policy, "policy.yaml").unwrap());
        let host = host.state_root(top.path().join("state")).build().unwrap();
        let live = LiveBundle::new(host.load(top.path().join("bundle")).await.unwrap());
        let changesets = Changesets::new(&live, top.path().join("state")).unwrap();
        changesets.extend().unwrap();
        let owner = changesets.owner("default", "user-1");
        Self {
            top,
            live,
            changesets,
            owner,
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.top.path().join("bundle").join(path)
    }

    fn state(&self, path: &str) -> PathBuf {
        self.top.path().join("state").join(path)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// All files of the bundle's folder, with their contents.
    fn disk(&self) -> Vec<(PathBuf, Vec<u8>)> {
        files_of(&self.path(""))
    }

    async fn open(&self) -> String {
        self.changesets.open(&self.owner).await.unwrap().id
    }

    async fn write(&self, id: &str, path: &str, content: impl AsRef<[u8]>) {
        let written = self
            .changesets
            .write(id, &self.owner, path, content.as_ref());
        written.await.unwrap();
    }

    async fn commit(&self, id: &str) -> CommitOutcome {
        self.changesets.commit(id, &self.owner).await.unwrap()
    }

    fn instance(&self) -> Instance {
        let bundle = self.live.current();
        let workdir = bundle.host().workdir(self.top.path().join("work")).unwrap();
        bundle.only_agent().unwrap().instance("user-1", workdir)
    }

    fn tools(&self) -> Vec<String> {
        let catalog = self.live.current().only_agent().unwrap().catalog();
        let names = catalog.items().iter().map(|item| item.name.to_string());
        names
            .filter(|name| !name.starts_with("changeset__"))
            .collect()
    }
}

fn files_of(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_of(&path));
        } else {
            let content = fs::read(&path).unwrap();
            files.push((path, content));
        }
    }
    files.sort();
    files
}

async fn call(step: &Step, name: &str, args: Value) -> ToolResult {
    let Value::Object(args) = args else {
        panic!("arguments are an object");
    };
    step.execute_without_message(ToolCall::new("call-1", name, args))
        .await
}

/// Returns the output of a call that must succeed.
#[track_caller]
fn output(result: &ToolResult) -> &Value {
    match result.output() {
        Some(output) => output,
        None => panic!("{result:?}"),
    }
}

fn code(result: &ToolResult) -> String {
    let error = result.tool_error().map(|error| error.code.to_string());
    error.unwrap_or_else(|| format!("no error: {result:?}"))
}

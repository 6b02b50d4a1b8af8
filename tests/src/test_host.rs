//! A host with a bundle of guests, for tests that execute calls.

use std::path::Path;

use serde_json::{Value, json};
use toolhost::search::ToolExposure;
use toolhost::{Agent, Host, LoadedBundle, Policy, Step, ToolCall, ToolResult, TurnStart, Workdir};

use crate::{Work, guest, root, sandbox};

/// A Tool of a test bundle: its name, its guest and its exports.
pub type TestTool<'a> = (&'a str, &'a str, &'a [&'a str]);

/// A host with a loaded bundle, an open step and a workdir.
pub struct TestHost {
    /// The bundle's directory.
    pub bundle: tempfile::TempDir,
    /// The host.
    pub host: Host,
    /// The bundle.
    pub loaded: LoadedBundle,
    /// The named agent of the bundle, or its only one.
    pub agent: Agent,
    /// A step of the agent.
    pub step: Step,
    /// The workdir of its calls.
    pub work: Work,
}

/// Returns the YAML of a bundle; each entry is the component of the guest with its name.
#[must_use]
pub fn yaml(tools: &[TestTool<'_>]) -> String {
    let document = |(name, guest, exports): &TestTool<'_>| {
        let exports: Vec<_> = exports.iter().map(|name| json!({"name": name})).collect();
        let spec = json!({"entry": format!("./{guest}.wasm"), "exports": exports});
        let tool = json!({
            "apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": name}, "spec": spec,
        });
        tool.to_string()
    };
    tools
        .iter()
        .map(document)
        .collect::<Vec<_>>()
        .join("\n---\n")
}

/// Writes a bundle: its manifest and the components of its guests.
pub fn write_bundle(dir: &Path, manifest: &str, guests: &[&str]) {
    std::fs::write(dir.join("goondan.yaml"), manifest).expect("the manifest is written");
    for name in guests {
        let path = dir.join(format!("{name}.wasm"));
        std::fs::write(path, guest(name)).expect("the component is written");
    }
}

/// Copies the component of the tool that runs programs in a language, `javascript` or `python`, into a bundle. Returns
/// false, and says so, if it is not built.
#[must_use]
pub fn copy_program_tool(language: &str, bundle: &Path) -> bool {
    let folder = match language {
        "javascript" => "typescript/javascript",
        _ => "python/python",
    };
    let component = root("guest-examples").join(folder);
    let component = component.join(format!(".toolhost/{language}.wasm"));
    let copied = std::fs::copy(&component, bundle.join(format!("{language}.wasm")));
    if copied.is_err() {
        #[expect(
            clippy::print_stderr,
            reason = "who runs the tests reads what was not tested"
        )]
        {
            eprintln!("NOT TESTED: {} is not built", component.display());
        }
    }
    copied.is_ok()
}

impl TestHost {
    /// Loads Tools without an Agent, with a policy in YAML.
    pub async fn with_tools(tools: &[TestTool<'_>], policy: &str) -> Self {
        let guests: Vec<_> = tools.iter().map(|(_, guest, _)| *guest).collect();
        Self::load(&yaml(tools), &guests, policy, None).await
    }

    /// Loads a manifest with a policy, and opens a step of the named or the only agent.
    pub async fn load(manifest: &str, guests: &[&str], policy: &str, agent: Option<&str>) -> Self {
        let policy = match policy {
            "" => Policy::default(),
            text => Policy::parse(text, "policy.yaml").expect("the policy parses"),
        };
        let host = Host::builder().sandbox(sandbox()).policy(policy).build();
        Self::load_in(host.expect("the host starts"), manifest, guests, agent).await
    }

    /// Loads Tools without an Agent in a host.
    pub async fn with_tools_in(host: Host, tools: &[TestTool<'_>]) -> Self {
        let guests: Vec<_> = tools.iter().map(|(_, guest, _)| *guest).collect();
        Self::load_in(host, &yaml(tools), &guests, None).await
    }

    async fn load_in(host: Host, manifest: &str, guests: &[&str], agent: Option<&str>) -> Self {
        let bundle = tempfile::tempdir().expect("a temporary directory");
        write_bundle(bundle.path(), manifest, guests);
        let loaded = host.load(bundle.path()).await.expect("the bundle loads");
        let agent = match agent {
            Some(name) => loaded.agent(name).expect("the agent is there"),
            None => loaded.only_agent().expect("there is one agent"),
        };
        let dir = tempfile::tempdir().expect("a temporary directory");
        let workdir = host.workdir(dir.path()).expect("the workdir opens");
        let work = Work { dir, workdir };
        Self {
            bundle,
            host,
            step: open_step(&agent, "instance", &work.workdir).await,
            agent,
            loaded,
            work,
        }
    }

    /// Executes a call.
    pub async fn call(&self, name: &str, args: Value) -> ToolResult {
        self.step
            .execute_without_message(tool_call(name, args))
            .await
    }

    /// Opens another step of the agent, in the same workdir.
    pub async fn another_step(&self) -> Step {
        open_step(&self.agent, "instance", &self.work.workdir).await
    }

    /// Opens a step of a turn whose model sees this of the tools.
    pub async fn step_with_exposure(&self, exposure: ToolExposure) -> Step {
        let instance = self.agent.instance("instance", self.work.workdir.clone());
        let start = TurnStart::new("turn-2").with_exposure(exposure);
        let turn = instance.open_turn(start).await;
        let step = turn.expect("the turn opens").open_step().await;
        step.expect("the step opens")
    }
}

/// Opens the first step of a turn of an agent's instance.
pub async fn open_step(agent: &Agent, instance: &str, workdir: &Workdir) -> Step {
    let instance = agent.instance(instance, workdir.clone());
    let turn = instance.open_turn("turn-1").await;
    let step = turn.expect("the turn opens").open_step().await;
    step.expect("the step opens")
}

/// Returns the call `call-1` of a tool.
#[must_use]
pub fn tool_call(name: &str, args: Value) -> ToolCall {
    tool_call_of("call-1", name, args)
}

/// Returns a call of a tool with this id.
#[must_use]
pub fn tool_call_of(id: &str, name: &str, args: Value) -> ToolCall {
    let Value::Object(args) = args else {
        panic!("arguments are an object");
    };
    ToolCall::new(id, name, args)
}

/// Returns the code of a result's error.
#[must_use]
pub fn code(result: &ToolResult) -> String {
    let error = result.tool_error().map(|error| error.code.to_string());
    error.unwrap_or_else(|| format!("no error: {result:?}"))
}

//! Loading a bundle again: what changes, what continues, and what survives.

mod bundle;
mod components;
mod extensions;
mod policy;
mod resources;
mod unload;
mod watch;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolhost::{
    Agent, Host, HostBuilder, LiveBundle, LoadedBundle, ToolResult, manifest::Diagnostic,
};
use toolhost_tests::test_host::{open_step, tool_call, write_bundle};
use toolhost_tests::{Work, guest, sandbox};

/// A bundle on disk, its current load, and a workdir for calls.
struct Fixture {
    dir: tempfile::TempDir,
    live: LiveBundle,
    work: Work,
}

impl Fixture {
    /// Loads a manifest whose Tools have the components of these guests.
    async fn load(manifest: &str, guests: &[&str]) -> Self {
        Self::load_in(builder().build().unwrap(), manifest, guests).await
    }

    async fn load_in(host: Host, manifest: &str, guests: &[&str]) -> Self {
        let guests: Vec<_> = guests.iter().map(|name| (*name, *name)).collect();
        Self::load_files(host, manifest, &guests).await
    }

    /// Loads a manifest; each file `{name}.wasm` is the component of a guest.
    async fn load_files(host: Host, manifest: &str, files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        write_bundle(dir.path(), manifest, &[]);
        for (name, of) in files {
            fs::write(dir.path().join(format!("{name}.wasm")), guest(of)).unwrap();
        }
        Self {
            live: LiveBundle::new(host.load(dir.path()).await.unwrap()),
            work: Work::new(),
            dir,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write_manifest(&self, manifest: &str) {
        fs::write(self.path("goondan.yaml"), manifest).unwrap();
    }

    /// Returns the only agent of the current load.
    fn agent(&self) -> Agent {
        self.live.current().only_agent().unwrap()
    }

    /// Executes a call of the current load.
    async fn call(&self, name: &str, args: Value) -> ToolResult {
        call(&self.live.current(), &self.work, name, args).await
    }
}

fn builder() -> HostBuilder {
    Host::builder().sandbox(sandbox())
}

/// Executes a call of the only agent of a bundle.
async fn call(bundle: &LoadedBundle, work: &Work, name: &str, args: Value) -> ToolResult {
    let agent = bundle.only_agent().unwrap();
    let step = open_step(&agent, "instance", &work.workdir).await;
    step.execute_without_message(tool_call(name, args)).await
}

/// Returns the YAML of a Tool with one export and the component `./{guest}.wasm`.
fn tool(name: &str, guest: &str, export: &str, description: &str) -> String {
    let export = json!({"name": export, "description": description});
    let spec = json!({"entry": format!("./{guest}.wasm"), "exports": [export]});
    let metadata = json!({"name": name});
    json!({"apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": metadata, "spec": spec})
        .to_string()
}

/// Returns the YAML of an Agent with these Tools.
fn agent(name: &str, tools: &[&str]) -> String {
    let tools: Vec<_> = tools
        .iter()
        .map(|name| json!({"ref": format!("Tool/{name}")}))
        .collect();
    let (metadata, spec) = (json!({"name": name}), json!({"tools": tools}));
    json!({"apiVersion": "goondan.ai/v1", "kind": "Agent", "metadata": metadata, "spec": spec})
        .to_string()
}

fn documents(documents: &[String]) -> String {
    documents.join("\n---\n")
}

/// Returns the findings that are errors.
fn errors(mut findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    findings.retain(Diagnostic::is_error);
    findings
}

/// Replaces a file by a new one with the component of a guest.
fn replace_component(file: &Path, name: &str) {
    let new = file.with_extension("new");
    fs::write(&new, guest(name)).unwrap();
    fs::rename(new, file).unwrap();
}

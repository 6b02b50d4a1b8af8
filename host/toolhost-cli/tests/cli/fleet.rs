//! `toolhost worker` and `toolhost workers`: other processes run the calls of a host, over a real NATS server.

mod killed;
mod server;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolhost::fleet::Workers;
use toolhost::{Host, Instance, Policy, Step, ToolCall, ToolResult};
use toolhost_nats::{NatsCarrier, NatsConfig};

use self::server::NatsServer;
use crate::terminal::guest;

/// A bundle, its policy, the shared state root and the server.
struct Site {
    top: TempDir,
    server: NatsServer,
}

/// A worker in a process of its own, and the file of what it says.
struct WorkerProcess(Child, PathBuf);

/// A host in this process, with a step of an instance.
struct Origin {
    host: Host,
    instance: Instance,
    step: Step,
}

impl Site {
    /// Starts a server. Returns `None` if none is installed.
    fn start() -> Option<Self> {
        let server = NatsServer::start()?;
        let top = tempfile::tempdir().unwrap();
        let site = Self { top, server };
        fs::create_dir(site.path("bundle")).unwrap();
        fs::copy(guest("write_bytes"), site.path("bundle/bytes.wasm")).unwrap();
        let tool = |name: &str| {
            json!({
                "apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": name},
                "spec": {"entry": "./bytes.wasm", "exports": [{"name": "run"}]},
            })
        };
        let manifest = format!("{}\n---\n{}", tool("kept"), tool("direct"));
        fs::write(site.path("bundle/goondan.yaml"), manifest).unwrap();
        fs::write(site.path("policy.yaml"), site.policy()).unwrap();
        Some(site)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    fn policy(&self) -> String {
        format!(
            "workspace: fleet
workers: {{nats: {{url: \"{}\"}}}}
defaults: {{placement: any, limits: {{deadlineMs: 60000}}}}
tools: {{kept: {{workdir: transactional}}}}
",
            self.server.url()
        )
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolhost"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.path("home"))
            .env("TOOLHOST_STATE_ROOT", self.path("state"))
            .current_dir(self.top.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs a command, and returns its exit code and what it printed.
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.command(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    fn worker(&self, more: &[&str]) -> WorkerProcess {
        let mut args = vec!["worker", "bundle", "--policy", "policy.yaml"];
        args.extend(more);
        let (file, said) = tempfile::NamedTempFile::new_in(self.top.path())
            .unwrap()
            .keep()
            .unwrap();
        let mut command = self.command(&args);
        let process = command.stderr(file).spawn().unwrap();
        WorkerProcess(process, said)
    }

    /// Returns the workers that live.
    fn workers(&self) -> Vec<Value> {
        let (code, text, stderr) = self.run(&["workers", "--policy", "policy.yaml", "--json"]);
        assert_eq!(code, 0, "{stderr}");
        let listed: Value = serde_json::from_str(&text).unwrap();
        listed["workers"].as_array().unwrap().clone()
    }

    fn wait_for_workers(&self, count: usize) -> Vec<Value> {
        let began = Instant::now();
        loop {
            let workers = self.workers();
            if workers.len() == count {
                return workers;
            }
            let listed = workers.len();
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{listed} workers in place of {count}"
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    async fn origin(&self) -> Origin {
        let carrier = NatsCarrier::new(NatsConfig::new(&self.server.url())).unwrap();
        let host = Host::builder()
            .policy(Policy::parse(&self.policy(), "policy.yaml").unwrap())
            .state_root(self.path("state"))
            .workers(Workers::new(Arc::new(carrier)));
        let host = host.build().unwrap();
        let loaded = host.load(self.path("bundle")).await.unwrap();
        let workspace = loaded.instance_workspace("user-1").unwrap();
        let instance = loaded.only_agent().unwrap().instance("user-1", workspace);
        let turn = instance.open_turn("turn-1").await.unwrap();
        let step = turn.open_step().await.unwrap();
        Origin {
            host,
            instance,
            step,
        }
    }
}

impl WorkerProcess {
    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits until it has ended by itself, and returns what it said.
    fn ended(mut self) -> (i32, String) {
        let code = self.0.wait().unwrap().code().unwrap();
        (code, fs::read_to_string(&self.1).unwrap())
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Origin {
    /// Appends a byte to a file of the workspace.
    async fn append(&self, tool: &str, path: &str) -> ToolResult {
        let args = json!({"path": path, "mode": "append", "bytes": 1});
        let Value::Object(args) = args else {
            unreachable!()
        };
        let call = ToolCall::new(path, tool, args);
        self.step.execute_without_message(call).await
    }

    /// The length of a file of the workspace; none if it is not there.
    fn size(&self, path: &str) -> Option<u64> {
        let workspace = PathBuf::from(self.instance.workdir().path());
        Some(fs::metadata(workspace.join(path)).ok()?.len())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_run_the_calls_of_a_host_and_end_when_they_are_told() {
    let Some(site) = Site::start() else {
        return;
    };
    let (code, text, _) = site.run(&["workers", "--policy", "policy.yaml"]);
    assert_eq!((code, &*text), (0, "no worker lives\n"));
    let (one, other) = (
        site.worker(&["--machine", "node-1", "--labels", "big,gpu", "--slots", "8"]),
        site.worker(&["--machine", "node-2"]),
    );
    let listed = site.wait_for_workers(2);
    assert_eq!(listed[0]["machine"], "node-1");
    assert_eq!(listed[0]["labels"], json!(["big", "gpu"]));
    assert_eq!(listed[0]["slots"], 8);
    assert_eq!(listed[0]["terms"], listed[1]["terms"]);

    let origin = site.origin().await;
    for number in 0..20 {
        for tool in ["kept", "direct"] {
            let path = format!("{tool}-{number}");
            let result = origin.append(&format!("{tool}__run"), &path).await;
            assert_eq!(result.output().unwrap()["size"], 1, "{result:?}");
            assert_eq!(origin.size(&path), Some(1));
        }
    }
    origin.host.flush_workers().await;
    let (code, text, stderr) = site.run(&[
        "call",
        "bundle",
        "kept__run",
        "--args",
        r#"{"path": "f", "bytes": 3}"#,
        "--policy",
        "policy.yaml",
        "--instance",
        "user-2",
    ]);
    assert_eq!(code, 0, "{text}{stderr}");
    assert!(text.contains(r#""written":3"#), "{text}");

    let id = listed[0]["worker"].as_str().unwrap();
    let (code, _, stderr) = site.run(&["workers", "drain", id, "--policy", "policy.yaml"]);
    assert_eq!(code, 0, "{stderr}");
    let (code, said) = one.ended();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(" takes calls of workspace:fleet "), "{said}");
    assert!(said.contains(", labels big, gpu\n"), "{said}");
    assert_eq!(site.wait_for_workers(1)[0]["machine"], "node-2");
    other.signal(rustix::process::Signal::TERM);
    let (code, said) = other.ended();
    assert_eq!(code, 0, "{said}");
    let last = said.lines().last().unwrap();
    assert!(
        last.starts_with("note: ended ") && last.ends_with(" calls"),
        "{said}"
    );
    assert!(site.workers().is_empty());
    let (code, _, stderr) = site.run(&["workers", "drain", id, "--policy", "policy.yaml"]);
    assert_eq!(code, 2);
    assert!(
        stderr.contains(&format!("no worker {id} lives")),
        "{stderr}"
    );
}

#[test]
fn servers_that_cannot_be_used_are_named() {
    let Some(site) = Site::start() else {
        return;
    };
    fs::write(site.path("none.yaml"), "").unwrap();
    for args in [
        &["workers"][..],
        &["worker", "bundle", "--policy", "none.yaml"],
    ] {
        let (code, _, stderr) = site.run(args);
        assert_eq!(code, 2);
        assert!(
            stderr.contains("the servers that carry calls are not known"),
            "{stderr}"
        );
        assert!(stderr.contains("--nats URL"), "{stderr}");
    }
    for args in [
        &["workers", "--nats", "nats://127.0.0.1:1"][..],
        &[
            "worker",
            "bundle",
            "--policy",
            "policy.yaml",
            "--nats",
            "nats://127.0.0.1:1",
        ],
    ] {
        let (code, _, stderr) = site.run(args);
        assert_eq!(code, 2);
        assert!(
            stderr.contains("no NATS server can be used at nats://127.0.0.1:1"),
            "{stderr}"
        );
    }
    let (code, _, stderr) = site.run(&["workers", "--nats", "http://127.0.0.1"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("nats://host:port"), "{stderr}");
    let (code, _, stderr) = site.run(&[
        "worker",
        "bundle",
        "--policy",
        "policy.yaml",
        "--labels",
        "Big",
    ]);
    assert_eq!(code, 2);
    assert!(stderr.contains("the label 'Big' is not"), "{stderr}");
}

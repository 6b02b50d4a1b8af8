//! A host controlled by commands, so that a test can limit the resources of its process.
//!
//! Each command is a JSON line on stdin, `{"op": …}` with its arguments, answered by a line on stdout;
//! see [`HostProcess::run`]. The answer to a failed command is `{"error": "…"}`.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, Write};
use std::path::Path;

use serde_json::{Value, json};
use toolhost::{
    Agent, AssistantMessage, Host, Policy, Sandbox, SandboxConfig, Step, ToolResult, Workdir,
};
use toolhost_sandbox::CacheConfig;
use toolhost_tests::test_host::{open_step, tool_call_of};

use crate::held_calls;

type Outcome = Result<Value, Box<dyn Error>>;

#[tokio::main]
pub(crate) async fn run() -> Result<(), Box<dyn Error>> {
    let mut process = HostProcess::default();
    for line in std::io::stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line?)?;
        let done = process.run(&command).await;
        print(&done.unwrap_or_else(|error| json!({"error": with_causes(&*error)})))?;
    }
    Ok(())
}

fn with_causes(error: &dyn Error) -> String {
    let cause = error.source().map(with_causes);
    let cause = cause.map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

/// Prints a line.
pub(crate) fn print(answer: &Value) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{answer}")?;
    out.flush()
}

#[derive(Default)]
struct HostProcess {
    host: Option<Host>,
    agent: Option<(Agent, Workdir)>,
    step: Option<Step>,
    /// Files that use up the descriptors of the process.
    held_files: Vec<File>,
}

impl HostProcess {
    async fn run(&mut self, command: &Value) -> Outcome {
        let text = |key: &str| command.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("op") {
            // Starts a host with a state root and a policy, and with its own cache if `cache` is given.
            "start" => {
                let sandbox = match text("cache") {
                    "" => toolhost_tests::sandbox(),
                    dir => Sandbox::new({
                        let mut config = SandboxConfig::default();
                        config.cache =
                            Some(CacheConfig::new(dir, Path::new(text("keys")).join("key")));
                        config
                    })?,
                };
                let policy = Policy::parse(text("policy"), "policy.yaml")?;
                let host = Host::builder().sandbox(sandbox).policy(policy);
                self.host = Some(host.state_root(text("state")).build()?);
            }
            // Loads a bundle and opens a step in a workdir.
            "load" => {
                let host = self.host.as_ref().ok_or("no host")?;
                let loaded = host.load(text("bundle")).await?;
                let agent = loaded.only_agent()?;
                let workdir = host.workdir(text("work"))?;
                self.step = Some(open_step(&agent, "instance", &workdir).await);
                self.agent = Some((agent, workdir));
            }
            "step" => {
                let (agent, workdir) = self.agent.as_ref().ok_or("no agent")?;
                self.step = Some(open_step(agent, "instance", workdir).await);
            }
            "call" => {
                let call = tool_call_of("call-1", text("tool"), member(command, "args"));
                let step = self.step.as_ref().ok_or("no step")?;
                return Ok(to_json(&step.execute_without_message(call).await));
            }
            "submit" => {
                let call = tool_call_of("call-1", text("tool"), member(command, "args"));
                let message = AssistantMessage::for_call(&call);
                let step = self.step.as_ref().ok_or("no step")?;
                return Ok(to_json(&step.submit(call, &message).await));
            }
            "poll" => {
                let (agent, workdir) = self.agent.as_ref().ok_or("no agent")?;
                let instance = agent.instance("instance", workdir.clone());
                return Ok(to_json(&instance.poll(text("handle")).await));
            }
            // Makes calls that wait for consent, and decides about them: see `held_calls`.
            "hold" => {
                let host = self.host.as_ref().ok_or("no host")?;
                let (agent, workdir) = self.agent.as_ref().ok_or("no agent")?;
                held_calls::run(host, agent.instance("instance", workdir.clone()), command).await?;
            }
            // Decides so many times at once, and returns who decided and why that does not count.
            "decide" => {
                let host = self.host.as_ref().ok_or("no host")?;
                return held_calls::decide(host, command).await;
            }
            // Writes, logs and submits endlessly, and prints the handles.
            "work" => self.work().await?,
            // Opens files until no descriptor is left; `release` closes them.
            "hoard" => {
                while let Ok(file) = File::open("/dev/null") {
                    self.held_files.push(file);
                }
                return Ok(json!({"held": self.held_files.len()}));
            }
            "release" => self.held_files.clear(),
            // Writes a file until the disk is full.
            "fill" => {
                let mut file = File::create(text("path"))?;
                while file.write_all(&[b'f'; 512]).is_ok() {}
            }
            "remove" => fs::remove_file(text("path"))?,
            "flush" => {
                let host = self.host.as_ref().ok_or("no host")?;
                host.events().flush().await;
            }
            // Returns the event logs beneath the state root.
            "events" => {
                let host = self.host.as_ref().ok_or("no host")?;
                host.events().flush().await;
                let mut logged = String::new();
                events(Path::new(text("state")), &mut logged)?;
                return Ok(json!(logged));
            }
            op => return Err(format!("no op '{op}'").into()),
        }
        Ok(json!("done"))
    }

    async fn work(&self) -> Result<(), Box<dyn Error>> {
        let step = self.step.as_ref().ok_or("no step")?;
        for round in 0_u64.. {
            let page = json!({"path": format!("/{}", round % 7), "bytes": 4096, "mode": "append"});
            let written =
                step.execute_without_message(tool_call_of("w", "write__run", page.clone()));
            written.await;
            for (tool, args) in [("write__run", page), ("sleep__run", json!({}))] {
                // Fewer than the limit of pending calls.
                if round < 50 {
                    let call = tool_call_of("s", tool, args);
                    let message = AssistantMessage::for_call(&call);
                    let accepted = step.submit(call, &message).await;
                    print(&json!(accepted.handle()))?;
                }
            }
        }
        Ok(())
    }
}

fn member(command: &Value, key: &str) -> Value {
    command.get(key).cloned().unwrap_or_else(|| json!({}))
}

fn to_json(result: &ToolResult) -> Value {
    json!({"result": result, "denials": result.usage().denials})
}

fn events(dir: &Path, logged: &mut String) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            events(&path, logged)?;
        } else if path.ends_with("events.jsonl") {
            logged.push_str(&fs::read_to_string(path)?);
        }
    }
    Ok(())
}

//! A host that does what it is told, so that a test may take away what its process needs.
//!
//! A JSON line on stdin for each thing, answered by one on stdout: `{"op": …}` and what it needs, see
//! [`Told::do_it`]. What fails is `{"error": "…"}`, and the process goes on.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, Write};
use std::path::Path;

use serde_json::{Value, json};
use toolhost::{Agent, AssistantMessage, Host, Sandbox, SandboxConfig, Step, ToolResult, Workdir};
use toolhost_sandbox::CacheConfig;
use toolhost_tests::test_host::{open_step, tool_call_of};

type Outcome = Result<Value, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut told = Told::default();
    for line in std::io::stdin().lock().lines() {
        let asked: Value = serde_json::from_str(&line?)?;
        let done = told.do_it(&asked).await;
        say(&done.unwrap_or_else(|error| json!({"error": error.to_string()})))?;
    }
    Ok(())
}

fn say(answer: &Value) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{answer}")?;
    out.flush()
}

#[derive(Default)]
struct Told {
    host: Option<Host>,
    agent: Option<(Agent, Workdir)>,
    step: Option<Step>,
    /// Files held open so that nobody else may.
    hoard: Vec<File>,
}

impl Told {
    async fn do_it(&mut self, asked: &Value) -> Outcome {
        let text = |key: &str| asked.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("op") {
            // A host with a state root, and a cache of its own where `cache` says where.
            "start" => {
                let sandbox = match text("cache") {
                    "" => toolhost_tests::sandbox(),
                    dir => Sandbox::new(SandboxConfig {
                        cache: Some(CacheConfig::new(dir, Path::new(text("keys")).join("key"))),
                        ..SandboxConfig::default()
                    })?,
                };
                let host = Host::builder().sandbox(sandbox).state_root(text("state"));
                self.host = Some(host.build()?);
            }
            // The agent of a bundle, in a workdir.
            "load" => {
                let host = self.host.as_ref().ok_or("no host")?;
                let agent = host.load(text("bundle")).await?.only_agent()?;
                let workdir = host.workdir(text("work"))?;
                self.step = Some(open_step(&agent, "instance", &workdir).await);
                self.agent = Some((agent, workdir));
            }
            "step" => {
                let (agent, workdir) = self.agent.as_ref().ok_or("no agent")?;
                self.step = Some(open_step(agent, "instance", workdir).await);
            }
            "call" => {
                let call = tool_call_of("call-1", text("tool"), part(asked, "args"));
                let step = self.step.as_ref().ok_or("no step")?;
                return Ok(shown(&step.execute_without_message(call).await));
            }
            "submit" => {
                let call = tool_call_of("call-1", text("tool"), part(asked, "args"));
                let message = AssistantMessage::for_call(&call);
                let step = self.step.as_ref().ok_or("no step")?;
                return Ok(shown(&step.submit(call, &message).await));
            }
            "poll" => {
                let (agent, workdir) = self.agent.as_ref().ok_or("no agent")?;
                let instance = agent.instance("instance", workdir.clone());
                return Ok(shown(&instance.poll(text("handle")).await));
            }
            // Writes, logs and submits for ever, and says the handles.
            "work" => self.work().await?,
            // Opens files until there are none to be had; `release` gives them back.
            "hoard" => {
                while let Ok(file) = File::open("/dev/null") {
                    self.hoard.push(file);
                }
                return Ok(json!({"held": self.hoard.len()}));
            }
            "release" => self.hoard.clear(),
            // Writes a file until there is no room.
            "fill" => {
                let mut file = File::create(text("path"))?;
                while file.write_all(&[b'f'; 512]).is_ok() {}
            }
            "remove" => fs::remove_file(text("path"))?,
            "flush" => {
                let host = self.host.as_ref().ok_or("no host")?;
                host.events().flush().await;
            }
            // All that is logged beneath the state root.
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
                // As many as a host keeps apart from its limits.
                if round < 50 {
                    let call = tool_call_of("s", tool, args);
                    let message = AssistantMessage::for_call(&call);
                    let accepted = step.submit(call, &message).await;
                    say(&json!(accepted.handle()))?;
                }
            }
        }
        Ok(())
    }
}

fn part(asked: &Value, key: &str) -> Value {
    asked.get(key).cloned().unwrap_or_else(|| json!({}))
}

fn shown(result: &ToolResult) -> Value {
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
